"""How the documentation site is built: ``make docs``. Nothing is fetched from the network."""

import importlib.util
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "aqka"
author = "The aqka developers"
project_copyright = author
html_title = "aqka"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "mathml",
    "docstrings",
    "generated_pages",
    "navigation",
]
exclude_patterns = ["_ext", "**/conftest.py"]

html_theme = "furo"
# Not every system has a font for formulas; ziamath brings STIX Two Math (SIL Open Font License).
ZIAMATH = Path(importlib.util.find_spec("ziamath").origin).parent
html_static_path = ["_static", str(ZIAMATH / "fonts" / "STIXTwoMath-Regular.ttf")]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
python_maximum_signature_line_length = 88

# Names of other projects and types of internal use, seen in signatures, have no page here.
nitpick_ignore_regex = [
    (r"py:.*", r"(numpy|np|scipy|sklearn|qiskit\w*|pennylane|distributed|pathlib|types)(\..*)?"),
    (r"py:.*", r"(collections|typing)\..*"),
    (r"py:.*", r"(ArrayLike|Generator|Path|Any|QuantumCircuit|BackendV2|NoiseModel|Client)"),
    (r"py:.*", r"(FloatArray|IntArray|BoolArray|ComplexArray)"),
    (r"py:class", r"aqka\.\w+\.([\w.]+\.)?_?[A-Z]\w*"),
]


def _trim(app: Sphinx, page: nodes.document) -> None:
    """Drop the empty line at the end of code, which doctest needs and readers do not."""
    for block in page.findall(nodes.literal_block):
        code = block.astext().rstrip()
        block.rawsource, block.children = code, [nodes.Text(code)]


def setup(app: Sphinx) -> None:
    """Register what only this site does."""
    app.connect("doctree-read", _trim)
