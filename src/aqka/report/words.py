"""Numbers as the pages write them, and the glossary of their words."""


def number_text(value: float | int | None) -> str:
    """Return a number for a table.

    Examples
    --------
    >>> number_text(12345), number_text(1234.5), number_text(None)
    ('12,345', '1,234.50', '–')
    """
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def axis_text(value: float) -> str:
    """Return a number short enough for an axis.

    Examples
    --------
    >>> axis_text(20000), axis_text(0.25), axis_text(1e-6), axis_text(1_500_000)
    ('20k', '0.25', '1e-06', '1.5M')
    """
    for size, name in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.10g}{name}"
    return f"{round(value, 10):g}"


def count_text(number: int, noun: str) -> str:
    """Return how many there are of something.

    Examples
    --------
    >>> count_text(1, "round"), count_text(3, "round")
    ('1 round', '3 rounds')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def capital(text: str) -> str:
    """Return a text as a sentence begins."""
    return text[:1].upper() + text[1:]


def p_text(value: float) -> str:
    """Return a p-value.

    Examples
    --------
    >>> p_text(0.0004), p_text(0.0312), p_text(0.5)
    ('p < 0.001', 'p = 0.031', 'p = 0.50')
    """
    if value < 0.001:
        return "p < 0.001"
    return f"p = {value:.3f}" if value < 0.1 else f"p = {value:.2f}"


def range_text(low: float, high: float) -> str:
    """Return an interval of a share.

    Examples
    --------
    >>> range_text(0.7225, 1.0)
    '0.72 to 1.00'
    """
    return f"{low:.2f} to {high:.2f}"


GLOSSARY = {
    "shot": "One execution of a circuit. On a pair it answers yes (a hit) or no.",
    "pair": "Two points. A shot on a pair measures how alike their states are: the share of hits "
    "estimates the kernel entry K.",
    "Pauli setting": "The basis, X, Y or Z, in which each qubit is measured where shots go to "
    "points instead of pairs. All points share a few dozen settings; their states are fitted to "
    "the counts.",
    "kernel": "The table of how alike any two points are, from 0 to 1. K is exact, K̂ is measured.",
    "feature map": "The circuit that turns the numbers of a point into a quantum state.",
    "exact kernel": "The kernel without noise, which can be simulated for few qubits: what "
    "unlimited shots on a perfect device would measure.",
    "plain model": "A model that needs no quantum computer and no shot: an SVM with RBF kernel, "
    "logistic regression, gradient boosting.",
    "majority class": "Always answering the most frequent class of the training points: the score "
    "of a model that has learnt nothing.",
    "accuracy": "Share of the test points whose class is predicted correctly.",
    "balanced accuracy": "Accuracy within each class, averaged over the classes, so that a rare "
    "class counts as much as a frequent one.",
    "95 % interval": "The range that would hold the accuracy on unlimited test points in 95 of 100 "
    "such experiments (Wilson's interval, sound for 10 of 10 too).",
    "p-value": "How often chance alone would make two equally good models differ this much on the "
    "same points (exact McNemar test). Below 0.05 we believe the difference.",
    "cross-validation": "Training on a part of the training points and predicting the rest, in "
    "turns.",
    "decision value": "The number f whose sign gives the class; 0 is the border between two "
    "classes. With more than two classes it is the lead of the first over the second.",
    "interval": "The range of a predicted value: 90 % for shot noise alone. It is not a range for "
    "the target of a regression.",
    "settled": "More test shots would hardly change the predicted class. A sequential test decides "
    "this while the shots come in; the interval is worked out afterwards from all of them, so that "
    "of a settled point may still reach a little past the border.",
    "could flip": "The interval that also counts the noise of the training shots reaches the "
    "border: the same fit on the exact kernel could answer another class.",
    "sensitivity": "|g|, how strongly an error in one pair moves the loss of the head.",
    "Gini": "How unevenly something is spread: 0 if all pairs have the same, near 1 if a few have "
    "almost all.",
    "allocator": "The rule that decides which pair or point gets how many shots.",
    "learner": "How the noisy kernel becomes a trained head, such as ridge regression.",
    "head": "The trained classifier: a weight for every training point.",
    "spectrum": "The eigenvalues of the kernel. Those below the noise floor cannot be told from "
    "shot noise.",
    "ledger": "The file that records every plan, job and answer before it is used, so that no shot "
    "is paid for twice.",
    "layout": "The qubits of the device that the circuit was placed on.",
    "calibration": "The device's own measurement of its errors; after a new one it may behave "
    "differently.",
    "QPU time": "How long the quantum processor was busy, which is what is billed.",
}
"""Each word in a sentence or two; the site's glossary is written from here too."""
