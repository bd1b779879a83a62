"""What explanations of several experiments say, with every number computed."""

from collections.abc import Sequence
from typing import Any

from aqka_research.results import Results
from aqka_research.spending import MAJORITY


def levels_note(results: Results, methods: Sequence[str], **conditions: Any) -> str:
    """Say what no learning reaches, and the methods' accuracies with what stands beside them."""
    task = {
        name: value
        for name, value in conditions.items()
        if name not in ("budget", "shots_per_pair")
    }
    majority = results.mean("accuracy", method=MAJORITY, **task)
    words = "; ".join(
        f"{method} {results.mean('accuracy', method=method, **conditions)}, "
        f"{results.mean('balanced_accuracy', method=method, **conditions)} and "
        f"{results.mean('correlation', method=method, **conditions)}"
        for method in methods
    )
    text = (
        f"The majority class is right on {majority} of the test points. Accuracy, "
        f"balanced accuracy and correlation with the exact predictor over the budgets in question: "
        f"{words}."
    )
    if results.protocol == "fair":
        text += (
            " The fair protocol changes ridge, diagonal and the reading of unseen pairs together; "
            "their effects are not separated here."
        )
    return text
