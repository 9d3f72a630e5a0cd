# make demo   trains a real model on real names in two minutes and shows where it looked
# make test   runs every test; those in a browser only where chromium is installed
# make test-browser  installs what those need, and runs them
# make bench  times xattend beside its peers, for an hour or more (DATA=folder with multi30k, ROUNDS=3)
# make results  writes docs/results.md from results/*.json
# All make their own environment in .venv first; nothing but Python 3.11 or newer is needed.

PYTHON ?= python3
BIN := .venv/bin
RUN := runs/demo
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test test-browser bench results clean

demo: .venv/installed
	$(BIN)/xattend train transliterate -s training.minutes=2.0 --out $(RUN) --overwrite
	$(BIN)/xattend evaluate $(RUN) --split test --show 5
	@echo
	$(BIN)/xattend report $(RUN)
	@echo "Now yours:  $(BIN)/xattend predict $(RUN) Amsterdam Reykjavik --attention"
	@echo "In a browser:  $(BIN)/xattend view $(RUN)"

test: .venv/developed
	$(BIN)/ruff check src tests
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2

test-browser: .venv/developed
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq chromium; } \
	  || { echo "chromium is missing, and only root can install it: sudo apt-get install chromium"; exit 1; }
	$(BIN)/python -m pytest -s tests/viewer

bench: .venv/developed
	$(BIN)/python benchmarks/bench.py $(if $(DATA),--data $(DATA)) $(if $(ROUNDS),--rounds $(ROUNDS))

results: .venv/installed
	$(BIN)/python -m xattend.reproductions.page

# torch is pinned here, and only here, so that everybody tests the same build; the package itself asks for a lower bound
.venv/python:
	$(PYTHON) -m venv .venv
	touch $@

.venv/installed: .venv/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

.venv/developed: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv build dist
