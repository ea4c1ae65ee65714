"""How Sphinx builds these pages; ``bash ci/docs`` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

import fmident

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "ci")]

project = "fmident"
author = "The fmident authors"
project_copyright = author
release = version = fmident.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinxext.rediraffe",
    "option_tables",
    "libraries",
    "mathml",
    "pictures",
    "reports",
]
exclude_patterns = ["conf.py", "_extensions", "**.c"]
suppress_warnings = [
    "ref.python",  # a type such as Evaluator in a signature, of which there are two
]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_heading_slug_func = "anchors.slug"

nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "force"  # a notebook that fails is a warning, and so ends the build
nb_execution_in_temp = True
nb_execution_timeout = 240
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
python_maximum_signature_line_length = 80
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = "fmident"
html_baseurl = "https://fmident.github.io/fmident/"
html_static_path = ["_static"]
html_css_files = ["fmident.css"]
html_context = {"default_mode": "auto"}  # as the system is, until the reader chooses
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"gallery": []}
html_theme_options = {
    "icon_links": [
        {
            "name": "Repository",
            "url": "https://github.com/fmident/fmident",
            "icon": "fa-brands fa-github",
        }
    ],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "use_edit_page_button": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}

rediraffe_redirects = "redirects.txt"
