# Every target sets up what it needs in .venv. You need only make and Python 3.11 or newer.
PYTHON ?= python3
BIN := .venv/bin
TESTS := $(BIN)/python -m pytest -p tools.pytest_progress -o console_output_style=classic -n auto --dist worksteal -q

.DEFAULT_GOAL := help
.PHONY: help run serve test thorough check format static bench people active features large load faults compare docs clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/run  ## learn a map of Europe from simulated answers
	@$(BIN)/erkle demo

serve: .venv/serve  ## serve a study of cities with simulated participants, and show its map
	@$(BIN)/erkle serve --demo

test: .venv/dev  ## run the tests
	@echo "Running the tests (some minutes) ..."
	@$(TESTS) -m "not thorough"

thorough: .venv/dev  ## run all tests, also in browser windows of further sizes
	@$(TESTS)

check: .venv/dev  ## format the code, then run static and test
	$(BIN)/ruff format .
	$(MAKE) static test

static: .venv/dev  ## check formatting, style, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev  ## measure the speed and accuracy figures of the docs
	$(BIN)/python -m benchmarks

people: .venv/dev  ## measure the default learner on public data sets; resumes if interrupted
	$(BIN)/python -m benchmarks.people

active: .venv/dev  ## measure how many answers each question strategy saves
	$(BIN)/python -m benchmarks.active

features: .venv/dev  ## measure what features of the objects save; needs data sets with vectors
	$(BIN)/python -m benchmarks.features

large: .venv/dev  ## learn about 100,000 objects, and measure the exact kernel with thousands
	$(BIN)/python -m benchmarks.hundred_thousand
	$(BIN)/python -m benchmarks.thousands

load: .venv/dev  ## load-test the service, kill it and attack it (about 27 minutes)
	$(BIN)/python -m benchmarks.service

faults: .venv/dev  ## break a running server in many ways, and check that no answer is lost (about 9 minutes)
	$(BIN)/python -m benchmarks.faults

compare: .venv/dev  ## compare with cblearn, installed in .venv-cblearn
	$(BIN)/python -m benchmarks.compare

docs: .venv/dev  ## build the documentation in site/
	$(BIN)/zensical build --clean --strict

clean:  ## remove .venv and everything built
	rm -rf .venv .venv-cblearn site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# tools/set_up.py shows how far pip has got. The empty files say which extras are installed.
.venv/run: pyproject.toml
	@$(PYTHON) tools/set_up.py
	@touch $@

.venv/serve: pyproject.toml
	@$(PYTHON) tools/set_up.py service
	@touch $@ .venv/run

.venv/dev: pyproject.toml
	@$(PYTHON) tools/set_up.py dev docs
	@touch $@ .venv/run .venv/serve
