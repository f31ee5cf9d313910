# Every target sets up what it needs: a fresh clone wants Python 3.11 or newer, a Rust toolchain and a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
RUST_SOURCES := rust/Cargo.toml rust/Cargo.lock $(shell find rust -name target -prune -o \( -path '*/src/*.rs' -o -name Cargo.toml -o -name build.rs \) -print)
export CARGO_TARGET_DIR := $(CURDIR)/rust/target

# What maturin builds the extension under. Cargo under the same compiles PyO3 once, not once for each of the two.
CARGO = cd rust && PYO3_BUILD_EXTENSION_MODULE=1 PYO3_CONFIG_FILE="$$(ls $(CARGO_TARGET_DIR)/maturin/pyo3-config-*-abi3.txt)" cargo

PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint test-rust test-slow test-functions test-forms test-aarch64 fuzz bench memcheck wheel format lock clean

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):[^#]*## */  make \1\t/' | expand -t 20

demo: setup  ## the tour: trains a small language model, shows its text, its bits and how far they are from exact
	$(BIN)/presk demo

test: lint test-rust  ## every check and every test but the slow ones: formats, lints, types, Rust, Python
	$(PYTEST) -n auto --dist loadfile -m 'not slow'

setup: $(VENV)/.built  ## virtual environment, locked dependencies, compiled extension (again only when sources changed)

lint: setup  ## formats, lints and types alone
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --locked --workspace --all-targets -- -D warnings

test-rust: setup  ## the tests of the Rust crates alone
	$(CARGO) test --release --config checked.toml --locked --workspace --exclude presk-py --quiet

test-slow: setup  ## the tests that `make test` leaves out
	$(PYTEST) -m slow

test-functions: setup  ## the elementary functions over runs, on every f32 there is and 10⁸ numbers of f64
	export PRESK_FUNCTIONS=all; $(CARGO) test --release --locked --package presk-rt --test functions --test powers

test-forms: setup  ## the forms and their first derivatives against the reference, at 10⁶ places each
	$(PYTEST) -n auto -m slow tests/conformance/test_forms.py

# What links for AArch64 and what runs it, by Debian's names and places; another system's can be given.
AARCH64_LINKER ?= aarch64-linux-gnu-gcc
AARCH64_RUNNER ?= qemu-aarch64 -L /usr/aarch64-linux-gnu

test-aarch64:  ## the Rust tests on AArch64 (NEON), emulated: CONTRIBUTING.md says what that needs
	cd rust && PRESK_FUNCTIONS=few PRESK_GENERATED=200 CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="$(AARCH64_LINKER)" CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$(AARCH64_RUNNER)" cargo test --release --config checked.toml --locked --target aarch64-unknown-linux-gnu --package presk-kernel --package presk-rt --package presk-cranelift --quiet

fuzz: setup  ## malformed programs, texts and files by the hundred thousand
	PRESK_FUZZ=100000 $(PYTEST) tests/fuzz -n auto -m 'slow or not slow'
	export PRESK_MUTANTS=100000; $(CARGO) test --release --config checked.toml --locked --package presk-kernel --package presk-rt --package presk-cranelift --test mutants --quiet

bench: setup  ## the benchmarks, one after the other
	set -e; for each in benchmarks/*.py; do echo "# $$each"; $(BIN)/python $$each; done

memcheck: setup  ## machine code under Valgrind, every load and store watched
	PYTHONMALLOC=malloc PRESK_THREADS=2 valgrind --quiet --smc-check=all-non-file --error-exitcode=9 --suppressions=tests/native/valgrind.supp $(BIN)/python tests/native/memcheck.py

wheel: setup  ## the wheel, in dist/
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --quiet --out dist
	@ls dist/*.whl

format: setup  ## formats the sources in place
	$(BIN)/ruff check --fix --quiet || true
	$(BIN)/ruff format
	$(CARGO) fmt --all

lock:  ## brings both lock files to the newest versions that fit
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	$(PYTHON) -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); print(*p["project"]["dependencies"], *p["dependency-groups"]["dev"], sep="\n")' > build/lock/wanted
	build/lock/bin/python -m pip --disable-pip-version-check --quiet install --requirement build/lock/wanted
	build/lock/bin/python -m pip --disable-pip-version-check freeze > build/lock/pins
	(echo "# Exact versions of everything the development environment holds; \`make lock\` writes this file."; cat build/lock/pins) > requirements-dev.lock
	cd rust && cargo update

clean:  ## removes whatever was built
	rm -rf $(VENV) build dist rust/target python/presk/_native*.so

$(VENV)/.locked: requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit("presk needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@command -v cargo > /dev/null || { echo "presk is built with Rust: install its toolchain, cargo is not on the PATH"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --requirement requirements-dev.lock
	touch $@

$(VENV)/.built: $(VENV)/.locked pyproject.toml $(RUST_SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install --no-deps --no-build-isolation --editable .
	touch $@
