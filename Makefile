# `make` alone tells what there is.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input
PROTOS := $(shell find protos -name '*.proto' | LC_ALL=C sort)
# What the checks look at.
CODE := services shared clients deploy tests
# The long tests, which come first, are begun first.
PYTEST = $(BIN)/python -m pytest -q -n 3 --dist loadscope --no-loadscope-reorder
# Hands that `make run` plays; empty: until Ctrl-C.
HANDS ?=
# How long `make soak` and `make chaos` play; empty: an hour, ten minutes.
MINUTES ?=
# How much of what the machine can do `make soak` plays.
SHARE ?= 0.7
RUN_ARGS := $(if $(HANDS),--hands $(HANDS))
# Where the chance of `make chaos` comes from; empty: a new seed.
SEED ?=
# Which row `make bench` measures; empty: all of them.
ROW ?=
# Not empty: `make bench` goes before all else that a shared machine does (Linux, root).
AHEAD ?=
BENCH_ARGS := $(if $(ROW),--only $(ROW)) $(if $(AHEAD),--ahead)

.PHONY: help
help: ## What there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: .venv/installed build/stubs/.made ## Start the house, let bots play, show the hands (HANDS=200: that many, then verify)
	@$(BIN)/croupier run $(RUN_ARGS)

.PHONY: test
test: lint ## All checks and tests
	@$(PYTEST)

.PHONY: coverage
coverage: .venv/installed-dev build/stubs/.made ## All tests, and which statements and branches none of them comes by
	@$(PYTEST) --cov --cov-report=term:skip-covered

.PHONY: lint
lint: .venv/installed-dev build/stubs/.made ## The checks alone
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy $(CODE)
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/buf lint
	@$(BIN)/buf format --diff --exit-code

.PHONY: stubs
stubs: .venv/installed build/stubs/.made ## Python from the protos, into build/stubs

.PHONY: bench
bench: .venv/installed-bench build/stubs/.made ## Measure all beside what bounds it (ROW=hands: one row; build/bench.json)
	@$(BIN)/python -m tests.bench --json build/bench.json $(BENCH_ARGS)

.PHONY: bench-growth
bench-growth: .venv/installed-bench build/stubs/.made ## What a hand costs as the log grows to ten million events
	@$(BIN)/python -m tests.bench --only growth --large --json build/bench-growth.json

.PHONY: edge
edge: .venv/installed build/stubs/.made ## Every figure of `croupier edge` against the reference and against hands played
	@$(BIN)/python -m tests.bench.edge

.PHONY: rng-report
rng-report: .venv/installed build/stubs/.made ## Test the random numbers of the house, into build/rng-report (RNG_ARGS="--seed …")
	@$(BIN)/python -m tests.rng.report $(RNG_ARGS)

.PHONY: soak
soak: .venv/installed-dev build/stubs/.made ## Play for an hour at 70 % of what the machine can do: does anything grow? (MINUTES=60 SHARE=0.7)
	@$(BIN)/python -m tests.bench.soaking $(or $(MINUTES),60) $(SHARE)

.PHONY: evening
evening: .venv/installed-dev build/stubs/.made ## A thousand hands of each game, everything that anybody receives kept and looked through
	@for game in baccarat battle casino_holdem oasis_poker draw_poker; do \
	  EVENING_GAMES=$$game EVENING_HANDS=1000 $(BIN)/python -m pytest -q -p no:cacheprovider --timeout 1200 tests/e2e/test_private_cards.py; \
	done

.PHONY: chaos
chaos: .venv/installed-dev build/stubs/.made ## All games while processes are killed, paused and cut off, then check all (MINUTES=10, SEED=…)
	@$(BIN)/python -m tests.chaos.run --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

.PHONY: partitions
partitions: .venv/installed-dev build/stubs/.made ## All games on seven hosts while each link between them is cut, one way and both (root, SEED=…)
	@$(BIN)/python -m tests.chaos.partitions $(if $(SEED),--seed $(SEED))

.PHONY: lock
lock: .venv/installed ## Pin requirements*.in into requirements*.txt, with hashes (needs uv)
	@uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet requirements.in --output-file requirements.txt
	@uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet requirements-dev.in --output-file requirements-dev.txt
	@uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet requirements-bench.in --output-file requirements-bench.txt

.PHONY: clean
clean: ## Remove what was made, except the house's data (.croupier)
	@rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* htmlcov
	@find $(CODE) -name __pycache__ -prune -exec rm -rf {} +

# ---- The environment: made once, and again only when the requirements change.

.venv/bin/python:
	@for python in python3.14 python3.13 python3.12 python3.11 python3; do \
	  if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "making .venv with $$($$python --version)"; exec $$python -m venv .venv; \
	  fi; \
	done; \
	echo "Croupier needs Python 3.11 or newer (with venv)" >&2; exit 1

.venv/installed: requirements.txt pyproject.toml | .venv/bin/python
	@echo "installing requirements"
	@$(PIP) install --require-hashes --no-deps -r requirements.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@echo "$(CURDIR)/build/stubs" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/croupier_stubs.pth"
	@touch $@

.venv/installed-dev: requirements-dev.txt .venv/installed
	@echo "installing what the checks and tests need"
	@$(PIP) install --require-hashes --no-deps -r requirements-dev.txt
	@touch $@

.venv/installed-bench: requirements-bench.txt .venv/installed-dev
	@echo "installing what the benchmark compares with"
	@$(PIP) install --require-hashes --no-deps -r requirements-bench.txt
	@touch $@

# ---- The stubs.

build/stubs/.made: $(PROTOS) .venv/installed
	@echo "making stubs"
	@rm -rf build/new-stubs && mkdir -p build/new-stubs
	@$(BIN)/python -m grpc_tools.protoc --proto_path=protos \
	  --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc \
	  --python_out=build/new-stubs --grpc_python_out=build/new-stubs \
	  --mypy_out=quiet:build/new-stubs --mypy_grpc_out=quiet:build/new-stubs $(PROTOS)
	@rm -rf build/stubs && mv build/new-stubs build/stubs && touch $@
