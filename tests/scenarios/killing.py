"""Kills a process again and again at random instants, until what it does is done."""

import multiprocessing
import time

# Forked children inherit the imports, so that a kill can hit the work itself and not its start.
FORK = multiprocessing.get_context("fork")


class Killer:
    """Runs ``work`` in children, and kills them.

    How long the work takes is only used to aim: it is measured once, taken as less if an
    undisturbed child was faster, and each kill of the same work allows the next child more. So
    every piece of work ends, however slow the machine is or becomes.
    """

    def __init__(self, work, rng):
        self._work = work
        self._rng = rng
        self._duration = float("inf")
        self.kills = self.pieces = 0

    def measure(self, *arguments):
        """Let the work be done once in peace."""
        start = time.perf_counter()
        child = self._start(arguments)
        child.join()
        assert child.exitcode == 0
        self._duration = time.perf_counter() - start  # with the fork, which is part of each try

    def __call__(self, *arguments):
        """Do a piece of work, and yield after every kill."""
        self.pieces += 1
        reach = 0.7
        while True:
            start = time.perf_counter()
            child = self._start(arguments)
            child.join(self._rng.uniform(0.0, reach) * self._duration)
            alive = child.is_alive()
            child.kill()
            child.join()
            if not alive:
                assert child.exitcode == 0
                if reach == 0.7:  # all of it was done by this child
                    self._duration = min(self._duration, time.perf_counter() - start)
                return
            self.kills += 1
            reach *= 1.15
            yield

    def _start(self, arguments):
        child = FORK.Process(target=self._work, args=arguments)
        child.start()
        return child
