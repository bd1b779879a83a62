"""Tables and figures in Markdown, as all pages write them."""

from collections.abc import Iterable, Sequence

import numpy as np


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table.

    Examples
    --------
    >>> print(table(("a", "b"), [("1", "|x|")]))
    | a | b |
    | --- | --- |
    | 1 | \\|x\\| |
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def mean_and_error(values: Iterable[float], form: str = ".1%") -> str:
    """Return a mean and its standard error.

    Examples
    --------
    >>> mean_and_error([0.5, 0.7])
    '60.0% ± 10.0%'
    """
    found = np.asarray(list(values))
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
    return f"{found.mean():{form}} ± {error:{form.lstrip('+')}}"
