"""The oracle's score, each shot's pair drawn at random from it."""

from dataclasses import dataclass
from typing import ClassVar

from aqka.allocators._base import SampledScore
from aqka.allocators.aqka_oracle import AqkaOracle


@dataclass(frozen=True)
class MultinomialOracle(SampledScore, AqkaOracle):
    """Sampling from p ∝ |g| sqrt(K(1-K)) of the true kernel (Appendix C.5)."""

    ledger_name: ClassVar[str] = "multinomial-oracle"
