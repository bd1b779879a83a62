"""The tutorial's pages as notebooks: ``make notebooks`` writes and runs them.

A page is the source: its text becomes cells of text, its examples cells of code.
"""

import doctest
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

TUTORIAL = Path(__file__).parents[1] / "tutorial"
PAGES = ("start", "data-to-hardware")
SECONDS = 600  # that a cell may take, which takes a few
FENCED = re.compile(r"^```python\n(>>> .*?)^```\n", re.DOTALL | re.MULTILINE)
OPTION = re.compile(r"  # doctest: .*")
DRAWN = re.compile(r"^!\[[^\]]*\]\(\.\./figures/[^)]*\)\n", re.MULTILINE)
SPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook_of(text: str) -> NotebookNode:
    """Return a page as a notebook that was not run yet.

    An example whose value is shown ends its cell, since a cell shows its last value alone. What a
    page draws the notebook draws itself.
    """
    cells = []
    for number, part in enumerate(FENCED.split(text)):
        if number % 2:
            cells += [nbformat.v4.new_code_cell(code) for code in _cells(part)]
        elif DRAWN.sub("", part).strip():
            cells.append(nbformat.v4.new_markdown_cell(DRAWN.sub("", part).strip()))
    for k, cell in enumerate(cells):
        cell["id"] = f"cell-{k}"  # else they are drawn at random
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": SPEC})


def _cells(block: str) -> list[str]:
    cells, lines = [], ""
    for example in doctest.DocTestParser().get_examples(block):
        lines += OPTION.sub("", example.source)
        if example.want:
            cells.append(lines.rstrip("\n"))
            lines = ""
    return [*cells, lines.rstrip("\n")] if lines else cells


def run(notebook: NotebookNode, directory: Path) -> NotebookNode:
    """Run every cell in an empty directory; one that fails raises."""
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name=SPEC["name"],
        record_timing=False,
        resources={"metadata": {"path": str(directory)}},
    )
    ran: NotebookNode = client.execute()
    return ran


def main() -> None:
    """Write the tutorial's notebooks, with what they show."""
    for page in PAGES:
        notebook = notebook_of((TUTORIAL / f"{page}.md").read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as directory:
            run(notebook, Path(directory))
        nbformat.write(notebook, TUTORIAL / f"{page}.ipynb")
        print(f"docs/tutorial/{page}.ipynb", file=sys.stderr)


if __name__ == "__main__":
    main()
