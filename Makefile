# The same few targets for people and for CI. `make test` needs Python and make alone.

PYTHON = python3
BIN = .venv/bin

# What there is.
help:
	@awk '/^# / {said = substr($$0, 3)} /^[a-z][a-z-]*:/ {sub(":.*", ""); printf "make %-12s %s\n", $$0, said}' Makefile

# A .venv with idemctl and all that its tests need, in locked versions.
install: .venv/installed

.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "idemctl needs Python 3.11 or newer: make install PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install -qq --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

# The tour: servers of its own, every step checked, nothing left behind.
demo: install
	@$(BIN)/idemctl demo

# Every test that needs no package of the system.
test: install
	@$(BIN)/pytest -m "not system and not compat"

# Libraries of real life write their records, and idemctl reads them.
test-compat: install .compat/installed
	@COMPAT_PYTHON=$(CURDIR)/.compat/bin/python $(BIN)/pytest -m compat

.compat/installed: tests/compat/requirements.txt
	@$(PYTHON) -m venv --clear .compat
	@.compat/bin/python -m pip install -qq -r tests/compat/requirements.txt
	@touch $@

# Lint, format, types, import contracts, and that the documentation shows the real help.
check: install
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python docs/blocks.py --check

# Speed beside its peers, on this machine.
bench: install
	@$(BIN)/python -m benchmarks.gc
	@$(BIN)/python -m benchmarks.pair
	@$(BIN)/python -m benchmarks.scan
	@$(BIN)/python -m benchmarks.codecs
	@$(BIN)/python -m benchmarks.audit
	@$(BIN)/python -m benchmarks.foreground

# Write the real help into the marked blocks of the documentation.
docs: install
	@$(BIN)/python docs/blocks.py

# Resolve pyproject.toml into requirements.lock; needs uv. Versions already locked stay.
lock:
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --all-extras --group dev \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml > /dev/null

# What test-system needs, from Debian 12; as root.
system:
	@apt-get update -qq
	@DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
		pgbouncer postgresql-15 redis-server > /dev/null

# The tests that need it.
test-system: install
	@$(BIN)/pytest -m system

.PHONY: help install demo test test-compat check bench docs lock system test-system
