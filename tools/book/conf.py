"""How Sphinx builds the book: nothing is executed here, and nothing is asked of another machine."""

project = "The durable-agent crash lab"
author = ""
extensions = ["myst_nb"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # would come from two other machines; widgets are pages of their own
nb_remove_code_source = False

html_title = "The durable-agent crash lab"
html_theme = "sphinx_book_theme"
templates_path = ["templates"]
html_static_path = ["book.css", "book.js"]
html_css_files = ["book.css"]
html_js_files = [("book.js", {"defer": "defer"})]
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_use_index = False
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_show_search_summary = False  # it fetches pages, which a browser refuses for pages opened from a disk
html_theme_options = {
    "show_toc_level": 2,
    "home_page_in_toc": True,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "show_prev_next": True,
}
