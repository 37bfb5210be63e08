# `make help` lists the targets. Everything is installed into .venv and build/test-env; nothing outside this folder.

PYTHON ?= python3
WORKERS ?= 2

RUN_ENV := .venv
TEST_ENV := build/test-env
RUN_STAMP := $(RUN_ENV)/.installed
TEST_STAMP := $(TEST_ENV)/.installed

VALIDATORS := tests/validators
NODE_STAMP := $(VALIDATORS)/node_modules/.installed
# Without npm the tests that need it are skipped. (sh -c: `command` is no program that make could start.)
NPM := $(shell sh -c 'command -v npm')
NODE_READY := $(if $(and $(NPM),$(wildcard $(VALIDATORS)/package-lock.json)),$(NODE_STAMP))

# The player is built wherever npm is; without it the package works and `kinepack play` says what is missing.
WEB_SOURCES := $(shell find web/src web/build.mjs web/tsconfig.json -type f 2>/dev/null)
WEB_STAMP := web/node_modules/.installed
WASM := build/kinepack.wasm
WASM_STAMP := build/wasm-env/.installed
PLAYER := src/kinepack/web_assets/player.js
PLAYER_READY := $(if $(NPM),$(PLAYER))

BUILD_FILES := pyproject.toml CMakeLists.txt $(shell find kernels -type f -not -path '*/__pycache__/*' 2>/dev/null)
SOURCES := $(shell find src -type f -not -path '*/__pycache__/*')
BENCHES := $(filter-out benches/readme_table.py,$(sort $(wildcard benches/*.py)))
PIP_FLAGS := --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test lint bench wasm player readme clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(RUN_STAMP) ## install into .venv, compress the samples, write out/report.html
	@mkdir -p out
	$(RUN_ENV)/bin/kinepack demo -o out/report.html

test: lint $(NODE_READY) $(PLAYER_READY) ## set up, check style, types and layers, run all tests
	$(TEST_ENV)/bin/python -m pytest -n $(WORKERS)

lint: $(TEST_STAMP) ## style, types and layers only
	$(TEST_ENV)/bin/ruff check .
	$(TEST_ENV)/bin/ruff format --check .
	$(TEST_ENV)/bin/mypy
	$(TEST_ENV)/bin/lint-imports

bench: $(TEST_STAMP) ## measure speed and size, renew benches/results and the table in README.md
	@set -e; for bench in $(BENCHES); do echo "== $$bench"; $(TEST_ENV)/bin/python $$bench; done
	$(TEST_ENV)/bin/python benches/readme_table.py

readme: $(TEST_STAMP) ## renew the table in README.md from benches/results
	$(TEST_ENV)/bin/python benches/readme_table.py

wasm: $(WASM) ## compile the kernels to build/kinepack.wasm

player: $(PLAYER) ## build the web player into the package (needs npm)

clean: ## remove everything that make made
	rm -rf .venv build out $(VALIDATORS)/node_modules web/node_modules web/dist src/kinepack/web_assets .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# A plain install, as a user would have it: it copies the sources, so any change of them installs again.
$(RUN_STAMP): $(BUILD_FILES) $(SOURCES) README.md LICENSE $(PLAYER_READY)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Kinepack needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	@test -x $(RUN_ENV)/bin/python || $(PYTHON) -m venv $(RUN_ENV)
	@echo "Installing Kinepack into $(RUN_ENV) (a minute or two the first time)"
	$(RUN_ENV)/bin/python -m pip install $(PIP_FLAGS) ".[all]"
	@touch $@

# Editable: changes of Python files count at once, only the build files install again.
$(TEST_STAMP): $(BUILD_FILES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Kinepack needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	@test -x $(TEST_ENV)/bin/python || $(PYTHON) -m venv $(TEST_ENV)
	@echo "Installing Kinepack and its development tools into $(TEST_ENV) (a few minutes the first time)"
	$(TEST_ENV)/bin/python -m pip install $(PIP_FLAGS) -e ".[dev]"
	@touch $@

$(NODE_STAMP): $(VALIDATORS)/package-lock.json
	cd $(VALIDATORS) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(WEB_STAMP): web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(WASM_STAMP):
	@test -x build/wasm-env/bin/python || $(PYTHON) -m venv build/wasm-env
	build/wasm-env/bin/python -m pip install $(PIP_FLAGS) "ziglang>=0.13"
	@touch $@

$(WASM): $(wildcard kernels/*.c kernels/*.h kernels/include/*.h) kernels/build_wasm.py $(WASM_STAMP)
	build/wasm-env/bin/python kernels/build_wasm.py $@

$(PLAYER): $(WEB_SOURCES) $(WASM) $(WEB_STAMP) $(wildcard src/kinepack/codecs/kine_*prior*.bin) \
	src/kinepack/container/skeletons.txt
	cd web && node build.mjs
