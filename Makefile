# Everything below works from a fresh clone with Python 3.11 or newer. `make help` lists the targets.

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# The first of these that is new enough makes the environment; `make PYTHON=...` names one.
PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11 python

# The stamps of an environment whose interpreter is gone, say after an upgrade, mean nothing.
_ := $(shell test -x $(BIN)/python || rm -f $(VENV)/*.stamp)

# A path set for another Python would shadow what the environment installs.
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types all-tests format generate coverage docs notebooks playground bench attack golden texts clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/run.stamp ## install the package and run a kernel on this machine
	@$(BIN)/pypto demo

test: lint ## run everything that CI runs: check and all tests
	@$(MAKE) --no-print-directory --jobs=2 types all-tests

check: lint types ## check format, lint and types

lint: $(VENV)/dev.stamp
	$(BIN)/ruff format --check
	$(BIN)/ruff check

# One process, which takes a core for as long as a tenth of the tests: `test` runs it beside them.
types: $(VENV)/dev.stamp
	$(BIN)/pyright --pythonpath $(BIN)/python

all-tests: $(VENV)/dev.stamp
	$(BIN)/pytest -n auto

format: $(VENV)/dev.stamp ## format the code and apply safe lint fixes
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

coverage: $(VENV)/dev.stamp ## run all tests and print which part of the package they run
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto --thorough
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

generate: $(VENV)/dev.stamp ## write what follows from the definitions of ops
	$(BIN)/python -m tools.generate
	@$(BIN)/pytest -q tests/meta/test_names_page.py tests/meta/test_ir_page.py --update-golden

docs: $(VENV)/docs.stamp ## build the documentation site in build/site: all examples run, all links are checked
	@$(BIN)/python -m tools.site

notebooks: docs $(VENV)/browser.stamp ## run the tutorials in JupyterLab, in a headless Chromium
	@$(BIN)/python -m tests.notebooks_in_browser build/site build/notebooks

playground: $(VENV)/browser.stamp ## build the playground in build/site/playground, and try it in a headless Chromium
	@$(BIN)/python -m tools.playground build/site/playground
	@$(BIN)/python -m tests.playground_in_browser build/site build/playground-pictures

bench: $(VENV)/run.stamp ## run the benchmarks
	@set -e; for file in bench/*.py; do \
	  if [ ! -e "$$file" ]; then echo "bench/ has no benchmarks."; exit 0; fi; \
	  echo "== $$file"; $(BIN)/python "$$file"; \
	done

# Of each kind; with another seed they are others: `make attack SEED=20260102`.
MUTANTS ?= 100000
SEED ?= 0

attack: $(VENV)/dev.stamp ## read 100,000 damaged programs of each kind, as every night
	$(BIN)/python -m tests.attack.mutants all $(MUTANTS) --seed $(SEED)

golden: $(VENV)/dev.stamp ## rewrite the expected texts in tests/golden
	$(BIN)/pytest -n auto --update-golden

texts: $(VENV)/dev.stamp ## write the text of every kernel of the tests: make texts DIR=build/out
	@$(BIN)/python -m tests.emit.write_texts "$(DIR)"

clean: ## remove the environment, caches and build results
	rm -rf $(VENV) build dist .hypothesis .pytest_cache .ruff_cache .coverage .coverage.*
	find src tests bench -type d -name __pycache__ -prune -exec rm -rf {} +

# One environment with four stamps: what running needs, the development tools on top, what the site and its notebooks need.
$(VENV)/run.stamp: pyproject.toml $(BIN)/python
	@echo "Installing pypto into $(VENV) ..."
	@$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml $(BIN)/python
	@echo "Installing pypto and its development tools into $(VENV) ..."
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $(VENV)/run.stamp $@

$(VENV)/docs.stamp: pyproject.toml $(BIN)/python
	@echo "Installing pypto and what its documentation needs into $(VENV) ..."
	@$(PIP_INSTALL) --editable '.[docs]'
	@touch $(VENV)/run.stamp $@

$(VENV)/browser.stamp: pyproject.toml $(BIN)/python
	@echo "Installing pypto and what opens its notebooks into $(VENV) ..."
	@$(PIP_INSTALL) --editable '.[docs,browser]'
	@touch $(VENV)/run.stamp $(VENV)/docs.stamp $@

$(BIN)/python:
	@for python in $(PYTHON); do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "Creating $(VENV) with $$("$$python" --version) ..."; \
	    "$$python" -m venv --clear $(VENV) && exit 0; \
	    rm -rf $(VENV); \
	    echo "error: '$$python -m venv $(VENV)' failed; its message stands above." >&2; \
	    exit 1; \
	  fi; \
	done; \
	echo "error: PyPTO needs Python 3.11 or newer, and none of these is: $(PYTHON)" >&2; \
	echo "hint: install one, or name it: make PYTHON=/path/to/python3.11" >&2; \
	exit 1
