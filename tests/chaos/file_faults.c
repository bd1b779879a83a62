/* Kills the process at, tears or fails the n-th file operation below a directory.

   Loaded with LD_PRELOAD. A test calls faults_arm() in the process that shall suffer; what is
   counted are operations that change files, in the order in which the process asks for them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT, KILL, TEAR, FAIL, FULL };
#define MOST 100000
static char below[4096];
static char kinds[MOST + 1];
static long counter, target;
static int mode;

void faults_arm(const char *directory, long number, int how)
{
    snprintf(below, sizeof below, "%s/", directory);
    counter = 0, target = number, mode = how;
}

const char *faults_kinds(void)
{
    kinds[counter < MOST ? counter : MOST] = 0;
    return kinds;
}

/* What the next operation suffers: its kind is one of "ocwtsrum". */
static int suffers(const char *path, char kind)
{
    if (!below[0] || strncmp(path, below, strlen(below)))
        return COUNT;
    if (counter < MOST)
        kinds[counter] = kind;
    counter++;
    if (mode == FULL) /* what exists can be renamed, removed and synced on a full disk */
        return counter >= target && strchr("cwtm", kind) ? FAIL : COUNT;
    if (counter != target || mode == COUNT)
        return COUNT;
    if (mode == KILL || (mode == TEAR && kind != 'w'))
        kill(getpid(), SIGKILL);
    return mode;
}

static int suffers_at(int where, const char *name, char kind)
{
    char link[64], path[8192];
    if (name && name[0] == '/')
        return suffers(name, kind);
    snprintf(link, sizeof link, "/proc/self/fd/%d", where);
    ssize_t size = readlink(link, path, 4095);
    if (size < 0)
        return COUNT;
    path[size] = 0;
    if (name)
        snprintf(path + size, sizeof path - size, "/%s", name);
    return suffers(path, kind);
}

static int failed(void)
{
    errno = mode == FULL ? ENOSPC : EIO;
    return -1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRITES(flags) (((flags) & O_ACCMODE) != O_RDONLY || ((flags) & (O_CREAT | O_TRUNC)))

#define OPEN(name)                                                                      \
    int name(const char *path, int flags, ...)                                          \
    {                                                                                   \
        va_list more;                                                                   \
        va_start(more, flags);                                                          \
        mode_t rights = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;       \
        va_end(more);                                                                   \
        if (WRITES(flags) && suffers_at(-1, path, flags & O_CREAT ? 'c' : 'o') == FAIL) \
            return failed();                                                            \
        return REAL(name)(path, flags, rights);                                         \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                       \
    int name(int where, const char *path, int flags, ...)                                  \
    {                                                                                      \
        va_list more;                                                                      \
        va_start(more, flags);                                                             \
        mode_t rights = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;          \
        va_end(more);                                                                      \
        if (WRITES(flags) && suffers_at(where, path, flags & O_CREAT ? 'c' : 'o') == FAIL) \
            return failed();                                                               \
        return REAL(name)(where, path, flags, rights);                                     \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int file, const void *data, size_t size)
{
    int how = suffers_at(file, NULL, 'w');
    if (how == TEAR) {
        REAL(write)(file, data, size / 2);
        kill(getpid(), SIGKILL);
    }
    return how == FAIL ? failed() : REAL(write)(file, data, size);
}

#define PWRITE(name, offset)                                          \
    ssize_t name(int file, const void *data, size_t size, offset at)  \
    {                                                                 \
        int how = suffers_at(file, NULL, 'w');                        \
        if (how == TEAR) {                                            \
            REAL(name)(file, data, size / 2, at);                     \
            kill(getpid(), SIGKILL);                                  \
        }                                                             \
        return how == FAIL ? failed() : REAL(name)(file, data, size, at); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define ON_FILE(name, kind, more, given)                                            \
    int name more                                                                   \
    {                                                                               \
        return suffers_at(file, NULL, kind) == FAIL ? failed() : REAL(name) given; \
    }
ON_FILE(fsync, 's', (int file), (file))
ON_FILE(fdatasync, 's', (int file), (file))
ON_FILE(ftruncate, 't', (int file, off_t size), (file, size))
ON_FILE(ftruncate64, 't', (int file, off64_t size), (file, size))

#define ON_PATH(name, kind, more, given)                                            \
    int name more                                                                   \
    {                                                                               \
        return suffers_at(where, path, kind) == FAIL ? failed() : REAL(name) given; \
    }
#define where -1
ON_PATH(unlink, 'u', (const char *path), (path))
ON_PATH(rmdir, 'u', (const char *path), (path))
ON_PATH(mkdir, 'm', (const char *path, mode_t rights), (path, rights))
ON_PATH(rename, 'r', (const char *path, const char *to), (path, to))
#undef where
ON_PATH(unlinkat, 'u', (int where, const char *path, int flags), (where, path, flags))
ON_PATH(mkdirat, 'm', (int where, const char *path, mode_t rights), (where, path, rights))
