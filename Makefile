# What a contributor runs. Every target that needs it sets up .venv first (scripts/setup.sh), which costs nothing when
# pyproject.toml has not changed. Works with GNU make 3.81 (macOS) and later.
#
#   PYTHON=/path/to/python3.12   the Python to build .venv from (else one that is found on PATH)
#   ARGS='tests/test_cli.py'     more arguments for pytest, the demo or the benchmark

BIN := .venv/bin
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test lint tables reliability fuzz bench npm clean setup

help: ## say what the targets do
	@sed -n 's/^\([a-z]*\): [^#]*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r target does; do \
		printf '%-18s %s\n' "$$target" "$$does"; done

demo: setup ## play a recorded reply through mitmdump: what came in, what went out, the verdicts
	@$(BIN)/toolcalls demo $(ARGS)

test: setup ## run all tests
	@echo "pytest"
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal $(ARGS)

lint: setup ## check style, layers and types
	@echo "ruff check"
	@$(BIN)/ruff check --quiet .
	@echo "ruff format --check"
	@$(BIN)/ruff format --quiet --check . || { echo "not formatted; .venv/bin/ruff format --diff . shows it, without --diff mends it" >&2; exit 1; }
	@echo "layers (tests/test_layers.py)"
	@$(BIN)/python -m pytest -q tests/test_layers.py
	@echo "mypy"
	@$(BIN)/mypy

tables: setup ## write the tables of the pages that come from the code
	@PYTHONPATH=addon $(BIN)/python scripts/tables.py

bench: setup ## measure what the addon costs
	@$(BIN)/python bench/run.py $(ARGS)

npm: ## install the SDKs from npm for tests/test_e2e_npm.py, which is skipped without them (needs Node 20 or newer)
	@cd tests/npm && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

reliability: setup ## throw everything at the addon and print the table of docs/reliability.md
	@PYTHONPATH=tests $(BIN)/python -m reliability.run $(ARGS)

fuzz: setup ## invent inputs for FUZZ_SECONDS (120), led by the code that they reach
	@$(BIN)/python -c 'import atheris' 2>/dev/null || \
		{ command -v uv >/dev/null && uv pip install --quiet --python $(BIN)/python -e '.[fuzz]'; } || \
		$(BIN)/python -m pip install --quiet -e '.[fuzz]'
	@PYTHONPATH=tests $(BIN)/python -m fuzz.run $(ARGS)

clean: ## remove .venv, caches and build output
	@rm -rf .venv build dist tests/npm/node_modules .fuzz .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find addon bench scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@PYTHON='$(PYTHON)' sh scripts/setup.sh
