"""The settings of Sphinx for the site that `python docs/site/build.py` makes."""

import sys
from pathlib import Path

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent.parent
sys.path.insert(0, str(SITE))
sys.path.insert(0, str(ROOT / "src"))

from unweave import __version__  # noqa: E402

project = "unweave"
author = "The unweave authors"
project_copyright = "The unweave authors, Apache-2.0"
release = __version__
extensions = ["myst_parser", "sphinx.ext.viewcode", "mathematics"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["**/.ipynb_checkpoints"]

myst_enable_extensions = ["colon_fence", "fieldlist", "html_image"]
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
myst_links_external_new_tab = False

html_theme = "furo"
html_title = f"unweave {__version__}"
html_static_path = [str(SITE / "static")]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # summaries are fetched, which no browser does from a file
html_theme_options = {"navigation_with_keys": True}
html_extra_path = [str(ROOT / "docs" / "_build" / "extra")]

add_module_names = False
toc_object_entries = False
python_maximum_signature_line_length = 88
viewcode_follow_imported_members = True
viewcode_line_numbers = True
pygments_style = "friendly"
pygments_dark_style = "monokai"
