"""AQKA's score, but each shot's pair drawn at random from it."""

from dataclasses import dataclass
from typing import ClassVar

from aqka.allocators._base import SampledScore
from aqka.allocators.aqka import Aqka


@dataclass(frozen=True)
class Multinomial(SampledScore, Aqka):
    """Sampling from p ∝ |ĝ| sqrt(K̂(1-K̂)) instead of filling toward it (Appendix C.5)."""

    ledger_name: ClassVar[str] = "multinomial"
