# Every target sets up what it needs in .venv; only Python 3.11 or newer and make must be present.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run serve test check format static bench people active large load compare docs clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/run  ## learn a map of Europe from simulated answers and show it
	$(BIN)/erkle demo

serve: .venv/serve  ## serve a study of cities that simulated people answer, and show its map
	$(BIN)/erkle serve --demo

test: .venv/dev  ## run the tests
	$(BIN)/python -m pytest -n auto -q

check: .venv/dev  ## format, lint, types, layers, tests
	$(BIN)/ruff format .
	$(MAKE) static test

static: .venv/dev  ## the checks that run no code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev  ## measure the speed and accuracy claims of the docs
	$(BIN)/python -m benchmarks

people: .venv/dev  ## measure the learner that needs no tuning; goes on after an interruption
	$(BIN)/python -m benchmarks.people

active: .venv/dev  ## measure what choosing questions saves, and what it costs
	$(BIN)/python -m benchmarks.active

large: .venv/dev  ## learn five million answers about 100,000 objects with the command
	$(BIN)/python -m benchmarks.hundred_thousand

load: .venv/dev  ## kill the service and load it, with real processes (some 25 minutes)
	$(BIN)/python -m benchmarks.service

compare: .venv/dev  ## measure beside cblearn, in an environment of its own
	$(BIN)/python -m benchmarks.compare

docs: .venv/dev  ## build the site under site/
	$(BIN)/zensical build --clean --strict

clean:  ## remove the environment and everything built
	rm -rf .venv .venv-cblearn site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "erkle needs Python 3.11 or newer, but $(PYTHON) is `$(PYTHON) --version 2>&1`; set PYTHON=python3.11 or newer." >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/run: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/serve: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[service]'
	@touch $@ .venv/run

.venv/dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	@touch $@ .venv/run .venv/serve
