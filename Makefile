# What a contributor runs. Every target that needs it sets up .venv first (scripts/setup.sh), which costs nothing when
# pyproject.toml has not changed. Works with GNU make 3.81 (macOS) and later.
#
#   PYTHON=/path/to/python3.12   the Python to build .venv from (else one that is found on PATH)
#   ARGS='tests/test_cli.py'     more arguments for pytest, the demo or the benchmark
#   SEED=17                      the sample that `make test` runs (else a new one each time)

BIN := .venv/bin
# Tests start dozens of processes, and without bytecode each of them compiles mitmproxy again.
unexport PYTHONDONTWRITEBYTECODE
ARGS ?=
SEED ?=
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-all test-long test-versions quick lint dialect tables steps reliability soak fuzz mutate bench npm clean setup

help: ## say what the targets do
	@sed -n 's/^\([a-z-]*\): [^#]*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r target does; do \
		printf '%-18s %s\n' "$$target" "$$does"; done

demo: setup ## play a recorded reply through mitmdump: what came in, what went out, the verdicts
	@$(BIN)/toolcalls demo $(ARGS)

test: setup ## run the tests, the large products of cases and cuts by sample (SEED=17 repeats one)
	@TESTS=some SEED='$(SEED)' $(PYTEST) --durations 5 --durations-min 2 $(ARGS)

test-all: setup ## run everything that is checked, nothing by sample (over half an hour)
	@TESTS=all $(PYTEST) --durations 10 --durations-min 2 $(ARGS)

test-long: setup ## run what takes hours: thousands of examples of each law, every cut, the load, all of `make reliability`
	@TESTS=deep $(PYTEST) --ignore tests/live $(ARGS)
	@PYTHONPATH=tests $(BIN)/python -m reliability.run

test-versions: ## run what `make test` runs, or ARGS, on each Python, the oldest mitmproxy and all lower bounds
	@$(or $(PYTHON),$(shell for one in $(BIN)/python python3.13 python3.12 python3; do $$one -c 'import tomllib' 2>/dev/null && echo $$one && break; done),python3) \
		scripts/versions.py --only '$(ONLY)' -- $(ARGS)

quick: setup ## check types, layers, a few examples of the laws, and the tests of what changed (under a minute)
	@$(BIN)/mypy
	@$(BIN)/python scripts/quick.py $(ARGS)

lint: setup ## check style, layers and types
	@echo "ruff check"
	@$(BIN)/ruff check --quiet .
	@echo "ruff format --check"
	@$(BIN)/ruff format --quiet --check . || { echo "not formatted; .venv/bin/ruff format --diff . shows it, without --diff mends it" >&2; exit 1; }
	@echo "layers (tests/test_layers.py)"
	@$(BIN)/python -m pytest -q tests/test_layers.py
	@echo "mypy"
	@$(BIN)/mypy
	@echo "docs (a site without a broken link)"
	@$(BIN)/python scripts/build_site.py --quiet
	@echo "prose (scripts/prose.py)"
	@$(BIN)/python scripts/prose.py

docs: setup ## build the documentation as a site: build/site/html/index.html
	@$(BIN)/python scripts/build_site.py

dialect: setup ## make a dialect NAME and its cases from the reply in the file FROM (and the request's tools in TOOLS)
	@test -n '$(NAME)' -a -n '$(FROM)' || { echo 'make dialect NAME=my_dialect FROM=reply.txt [TOOLS=tools.json]' >&2; exit 2; }
	@PYTHONPATH=addon:tests $(BIN)/python -m newdialect.run '$(NAME)' '$(FROM)' $(if $(TOOLS),--tools '$(TOOLS)')

tables: setup ## write the tables of the pages that come from the code
	@PYTHONPATH=addon $(BIN)/python scripts/tables.py

bench: setup ## measure what the addon costs: all of it, or ONLY=readers,events
	@ONLY='$(ONLY)' $(BIN)/python bench/run.py $(ARGS)

npm: ## install the SDKs and axe-core from npm, without which tests are skipped (needs Node 20 or newer)
	@cd tests/npm && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

reliability: setup ## throw everything at the addon and print the table of docs/reliability.md
	@PYTHONPATH=tests $(BIN)/python -m reliability.run $(ARGS)

soak: setup ## send a day of replies through mitmweb with its pages open, and judge the memory: REPLIES=20000
	@$(BIN)/python scripts/soak.py $(if $(REPLIES),--replies $(REPLIES)) $(ARGS)

fuzz: setup ## invent inputs for FUZZ_SECONDS (120), led by the code that they reach
	@$(BIN)/python -c 'import atheris' 2>/dev/null || \
		{ command -v uv >/dev/null && uv pip install --quiet --python $(BIN)/python -e '.[fuzz]'; } || \
		$(BIN)/python -m pip install --quiet -e '.[fuzz]'
	@PYTHONPATH=tests $(BIN)/python -m fuzz.run $(ARGS)

steps: setup ## write the tables of what leaves step by step (tests/*/*.txt), for review in a diff
	@cd tests && for test in reading/test_ledger:reading/ledger writing/test_roundtrip_steps:writing/roundtrip \
		processors/test_screening_steps:processors/screening processors/test_careless_steps:processors/careless; do \
		PYTHONPATH=../addon:. $(abspath $(BIN))/python $${test%:*}.py >$${test#*:}.txt || exit 1; done

mutate: setup ## change the code of decisions and see whether tests notice: MUTANTS=200, or all; SEED= for the same ones
	@$(BIN)/python scripts/mutate.py $(if $(SEED),--seed $(SEED)) $(if $(MUTANTS),--mutants $(MUTANTS)) $(ARGS)

clean: ## remove .venv, caches and build output
	@rm -rf .venv build dist tests/npm/node_modules .versions .fuzz .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find addon bench scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@PYTHON='$(PYTHON)' sh scripts/setup.sh
