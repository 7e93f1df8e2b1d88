"""Sphinx's configuration: `python -m tools.site` runs it on the pages that it has laid out.

Nothing is loaded from elsewhere: the theme uses the reader's own fonts, search is a script in the
folder.
"""

from pypto import __version__

project = "PyPTO"
copyright = "the PyPTO authors, Apache-2.0"  # noqa: A001 - the name is Sphinx's
version = release = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["attrs_block"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown"}
root_doc = "index"
add_module_names = False
suppress_warnings = ["myst.header"]  # the changelog's versions are headings of the third level

html_theme = "furo"
html_title = f"PyPTO {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_sourcelink = False
pygments_style = "default"
pygments_dark_style = "github-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7fb3ef", "color-brand-content": "#7fb3ef"},
}
