"""The documentation site: `make docs` builds it from `docs/` into `build/site`.

`markdown` reads pages, `execute` runs their blocks, `api` writes pages of docstrings, `notebook`
makes notebooks of tutorials, `stage` lays all of that out for Sphinx, and `links` checks every
link in Sphinx's output.
"""
