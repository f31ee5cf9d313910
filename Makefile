# Every target sets up what it needs: a fresh clone wants Python 3.11 or newer, a Rust toolchain and a C compiler, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO_MANIFEST := rust/Cargo.toml
RUST_SOURCES := $(wildcard rust/Cargo.toml rust/Cargo.lock rust/*/Cargo.toml rust/*/build.rs rust/*/src/*.rs rust/*/src/*/*.rs rust/*/src/*/*/*.rs)
export CARGO_TARGET_DIR := $(CURDIR)/rust/target

.DEFAULT_GOAL := help
.PHONY: help setup

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 20

setup: $(VENV)/.built  ## virtual environment, locked dependencies, compiled extension (again only when sources changed)

$(VENV)/.locked: requirements-dev.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.lock
	touch $@

$(VENV)/.built: $(VENV)/.locked pyproject.toml $(RUST_SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@
