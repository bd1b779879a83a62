"""The tutorial's notebooks: they are its pages, they were run, and they run."""

import nbformat
import pytest

from docs._ext.notebooks import PAGES, TUTORIAL, notebook_of, run


def page(name):
    return (TUTORIAL / f"{name}.md").read_text(encoding="utf-8")


def test_text_and_examples_become_cells():
    text = """A

```python
>>> x = 1
>>> x
1
>>> print("y")  # doctest: +ELLIPSIS
y...
>>> def f():
...     return 2

```

```
ls
```

![it](../figures/it.png)
"""
    cells = notebook_of(text).cells
    assert [(cell.cell_type, cell.source) for cell in cells] == [
        ("markdown", "A"),
        ("code", "x = 1\nx"),
        ("code", 'print("y")'),
        ("code", "def f():\n    return 2"),
        ("markdown", "```\nls\n```"),
    ]


@pytest.mark.parametrize("name", PAGES)
def test_a_kept_notebook_is_its_page_and_was_run(name):
    kept = nbformat.read(TUTORIAL / f"{name}.ipynb", as_version=4)
    nbformat.validate(kept)
    made = notebook_of(page(name))
    remedy = "make notebooks, look at them, and commit them"
    assert [c.source for c in kept.cells] == [c.source for c in made.cells], remedy
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    kinds = {kind for cell in code for out in cell.outputs for kind in out.get("data", ())}
    assert "text/html" in kinds  # objects that show themselves
    assert ("image/png" in kinds) == (name == "data-to-hardware")
    assert "error" not in {out.output_type for cell in code for out in cell.outputs}


def test_a_notebook_runs(tmp_path):
    """The shorter one; the longer page's code is run by its own doctest."""
    ran = run(notebook_of(page("start")), tmp_path)
    kept = nbformat.read(TUTORIAL / "start.ipynb", as_version=4)
    for now, before in zip(ran.cells, kept.cells, strict=True):
        kinds = [[out.output_type for out in cell.get("outputs", [])] for cell in (now, before)]
        assert kinds[0] == kinds[1], now.source
