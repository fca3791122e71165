# SPDX-License-Identifier: MIT
"""Sphinx: see tools/docs/build, which fills in the pages made from headers and runs it."""
project = "Mooncake in the kernel"
extensions = []
master_doc = "index"
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "description": "KV cache blocks between nodes"}
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
highlight_language = "none"
primary_domain = "c"
