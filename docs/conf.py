"""How the documentation site is built: ``make docs``. Nothing is fetched from the network."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

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
]
exclude_patterns = ["_ext", "_templates", "**/conftest.py"]
templates_path = ["_templates"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3

autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
python_maximum_signature_line_length = 88

# Names of other projects, and of type aliases, have no page here.
nitpick_ignore_regex = [
    (r"py:.*", r"(numpy|np|scipy|sklearn|qiskit\w*|pennylane|distributed|pathlib|types)(\..*)?"),
    (r"py:.*", r"(collections|typing)\..*"),
    (r"py:.*", r"(ArrayLike|Generator|Path|Any|QuantumCircuit|BackendV2|NoiseModel|Client)"),
    (r"py:.*", r"(.*\.)?(FloatArray|IntArray|BoolArray|ComplexArray|Scalar|Answer|Prior)"),
    (r"py:.*", r"aqka\.(backends\._|testing\.fake_runtime\.).*"),
]
