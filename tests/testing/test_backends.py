"""The suite for backends finds what is wrong, and only that."""

import numpy as np
import pytest

from aqka import Backend, MatrixBackend
from aqka.backends import StatevectorBackend
from aqka.core import ShotPlan
from aqka.testing import check_backend
from aqka.testing.backends import check_rows_outside

X = np.random.default_rng(7).normal(size=(9, 2))
KERNEL = StatevectorBackend(X[:4]).kernel()


class Broken(MatrixBackend):
    """Breaks one promise at a time."""

    fault = ""

    def submit(self, plan: ShotPlan, tag: str) -> str:
        if self.fault == "accepts anything":
            self._plans[tag] = plan
            return tag
        return super().submit(plan, tag)

    def collect(self, ticket: str):
        if self.fault == "ignores the tag":
            self._plans["same"] = self._plans.pop(ticket)
            return super().collect("same")
        plan = self._plans[ticket]
        hits = super().collect(ticket)
        if self.fault == "biased":
            return np.minimum(hits + plan.shots // 50, plan.shots)
        if self.fault == "too many hits":
            return hits + 1
        if self.fault == "forgets a pair":
            return hits[:-1]
        if self.fault == "correlated shots":
            rng = np.random.default_rng(abs(hash(ticket)) % 2**32)
            half = rng.binomial(plan.shots // 2, self.kernel()[plan.rows, plan.cols])
            return 2 * half + np.minimum(plan.shots % 2, hits)
        if self.fault == "unseeded":
            return np.random.default_rng().binomial(plan.shots, self.kernel()[plan.rows, plan.cols])
        return hits


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("accepts anything", "outside"),
        ("ignores the tag", "fresh"),
        ("biased", "do not follow|biased"),
        ("too many hits", "between 0 and the shots"),
        ("forgets a pair", "expected"),
        ("unseeded", "same seed and tag"),
        ("correlated shots", "independent|do not follow|biased"),
    ],
)
def test_broken_backends_are_caught(fault, message):
    kernel = StatevectorBackend(X).kernel()
    faulty = type("Faulty", (Broken,), {"fault": fault})
    with pytest.raises(AssertionError, match=message):
        check_backend(lambda seed: faulty(kernel, seed=seed), kernel)


WRONG_PARTS = [
    ({"replayable": "yes"}, "replayable must be True or False"),
    ({"name": ""}, "name must be a text"),
    ({"calibrated_at": 2026}, "calibrated_at must be None or a text"),
    ({"circuit": "h q[0]"}, "circuit must be None or a QuantumCircuit"),
    ({"fingerprint": lambda self: ""}, "fingerprint must be a text"),
    ({"fingerprint": lambda self: str(len(self._plans_drawn))}, "must not change the fingerprint"),
    ({"fingerprint": lambda self: str(id(self._plans_drawn))}, "made again"),
    ({"recover": lambda self, plan, tag: tag}, "None for a plan never submitted"),
    ({"recover": lambda self, plan, tag: 1 if self._plans else None}, "None or a ticket, got int"),
    ({"usage": [2.0]}, "usage must be a mapping"),
    ({"usage": {"another ticket": 2.0}}, "usage names"),
    ({"usage": {"usage": "2 s"}}, "usage must be seconds"),
    ({"has_kernel": 1}, "has_kernel must be True or False"),
    ({"has_kernel": False}, "has_kernel is False but"),
    ({"kernel": lambda self: Backend.kernel(self)}, "has_kernel is True but"),
    ({"kernel": lambda self: np.eye(2)}, "the backend's is"),
    ({"kernel": lambda self: KERNEL / 2}, "not what hits follow"),
]


@pytest.mark.parametrize(("parts", "message"), WRONG_PARTS)
def test_wrong_optional_parts_are_caught(parts, message):
    class Drawing(MatrixBackend):
        def __init__(self, seed):
            self._plans_drawn = []
            super().__init__(KERNEL, seed=seed)

        def _draw(self, plan, rng):
            self._plans_drawn.append(plan)
            return rng.binomial(plan.shots, KERNEL[plan.rows, plan.cols])

    made = []  # kept, so that no two have one id
    faulty = type("Faulty", (Drawing,), parts)
    with pytest.raises(AssertionError, match=message):
        check_backend(lambda seed: made.append(faulty(seed)) or made[-1], KERNEL)


def test_who_says_replayable_must_repeat():
    faulty = type("Faulty", (Broken,), {"fault": "unseeded"})
    with pytest.raises(AssertionError, match="same seed and tag"):
        check_backend(lambda seed: faulty(KERNEL, seed=seed), KERNEL, deterministic=False)


class Smallest(Backend):
    """What a subclass must write, and nothing else."""

    def __init__(self, seed):
        self._backend = MatrixBackend(KERNEL, seed=seed)

    @property
    def shape(self):
        return self._backend.shape

    def submit(self, plan, tag):
        return self._backend.submit(plan, tag)

    def collect(self, ticket):
        return self._backend.collect(ticket)


def test_the_defaults_keep_the_contract():
    check_backend(Smallest, KERNEL)


def test_checks_can_be_run_one_by_one():
    check_rows_outside(lambda seed: MatrixBackend(np.eye(3), seed=seed))
