"""Damage to the files of a run, and files of one run in another's place."""

import shutil

GROUP = ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.head")
UNTOLD = (".lock", ".html")  # what no command reads


def files(run):
    """The files that a command reads, by their names inside the run."""
    return sorted(
        str(path.relative_to(run))
        for path in run.rglob("*")
        if path.is_file() and not path.name.endswith(UNTOLD)
    )


def flip_bit(content, rng):
    place = int(rng.integers(len(content)))
    content[place] ^= 1 << int(rng.integers(8))


def overwrite(content, rng):
    for _ in range(int(rng.integers(1, 9))):
        content[int(rng.integers(len(content)))] = int(rng.integers(256))


def zero_a_block(content, rng):
    start, size = int(rng.integers(len(content))), int(rng.choice([16, 512, 4096]))
    content[start : start + size] = bytes(len(content[start : start + size]))


def cut(content, rng):
    del content[int(rng.integers(len(content))) :]


def append(content, rng):
    content += bytes(rng.integers(0, 256, int(rng.integers(1, 200)), dtype="uint8"))


DAMAGES = (flip_bit, flip_bit, overwrite, zero_a_block, cut, append)


def damage(run, rng):
    """Damage one file of a run; return its name and what was done to it."""
    names = [name for name in files(run) if (run / name).stat().st_size]
    name = str(rng.choice(names))
    path = run / name
    if rng.random() < 0.1:
        path.unlink()
        return name, "removed"
    content = bytearray(path.read_bytes())
    before = bytes(content)
    change = DAMAGES[int(rng.integers(len(DAMAGES)))]
    change(content, rng)
    path.write_bytes(content)
    return name, change.__name__ if content != before else "nothing"


def swap(run, other, rng):
    """Put a file, or a ledger with all that belongs to it, of another run in its place."""
    names = [name for name in files(other) if (run / name).exists()]
    different = [n for n in names if (run / n).read_bytes() != (other / n).read_bytes()]
    name = str(rng.choice(different))
    if rng.random() < 0.3 and name.endswith(GROUP):
        replace_group(run, other, name)
        return name, "swapped with all of its ledger"
    shutil.copy(other / name, run / name)
    return name, "swapped"


def replace_group(run, source, name):
    """Put a file and what belongs to it, as it is in another directory, in its place."""
    path = run / name
    names = GROUP if path.name in GROUP else (path.name,)
    for one in names:
        path.with_name(one).unlink(missing_ok=True)
        origin = (source / name).with_name(one)
        if origin.exists():
            path.parent.mkdir(exist_ok=True)
            shutil.copy(origin, path.with_name(one))
