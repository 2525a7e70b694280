# Two commands do everything on a fresh machine with Python 3.11 or newer, git and make:
#   make demo    set up, train on the built-in text, translate 我爱水课
#   make test    set up, check and test
# One more compares speed with other tools, which it installs in environments of their own:
#   make bench   training and translation, about 20 minutes on two cores that are free

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Extra words for pip, such as where to take another build of torch from.
PIP_OPTIONS ?=

.PHONY: demo test test-slow test-web bench check format ship-demo clean

demo: $(VENV)/.installed
	$(BIN)/transduce demo

test: check
	$(BIN)/python -m pytest -m "not slow" --numprocesses auto --maxprocesses 4 --dist loadfile

test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow

# The page in a real browser. `make test` has these tests too, and skips them where there is no Chromium.
test-web: $(VENV)/.installed-dev
	$(BIN)/python -m tests.web.browser || bash tests/web/install_chromium.sh
	$(BIN)/python -m pytest tests/web

bench: $(VENV)/.installed-dev
	$(BIN)/python -m bench training --pip-options="$(PIP_OPTIONS)"
	$(BIN)/python -m bench translation --pip-options="$(PIP_OPTIONS)"

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check src tests bench docs
	$(BIN)/ruff check src tests bench docs
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff format src tests bench docs
	$(BIN)/ruff check --fix src tests bench docs

# A stamp is newer than what it was made from exactly when nothing has to be installed again.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "transduce needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) -c constraints.txt -e '.[serve]'
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) -c constraints.txt -e '.[dev]'
	touch $@

# Trains the demo and puts the run where it ships with the package. Needed when the demo's text, its experiment
# or the run folder's format changes: a test tells.
ship-demo: $(VENV)/.installed
	rm -rf build/demo src/transduce/demo/run
	$(BIN)/transduce demo --run build/demo
	mkdir -p src/transduce/demo/run
	cd build/demo && cp -R experiment.toml tokenizer.json data.json journal.jsonl results.json average ../../src/transduce/demo/run/

clean:
	rm -rf $(VENV) runs dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
