# Each target sets itself up: a virtual environment in .venv, pinned installs, and nothing twice.
PYTHON ?= python3
BIN    := .venv/bin
PIP    := PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet

.PHONY: demo test check format night bench bench-engines docs clean

demo: .venv/.base
	@$(BIN)/discreet demo

# with one order of sets, as with one seed for what is drawn, a run repeats
test: .venv/.dev
	@PYTHONHASHSEED=0 $(BIN)/pytest -n auto -m "not night"

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.dev
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

night: .venv/.dev
	@$(BIN)/pytest -n auto -m night

bench: .venv/.bench
	@$(BIN)/python -m benchmarks.run

bench-engines: .venv/.bench
	@$(BIN)/python -m benchmarks.run engines

docs: .venv/.docs
	@$(BIN)/python -m discreet.cli.reference_pages docs/reference
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo build/site/index.html

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# Debian ships pip without ensurepip; where venv cannot bring its own pip, the system's pip puts one in.
$(BIN)/python:
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 \
	  || { rm -rf .venv && $(PYTHON) -m venv --without-pip .venv \
	       && $(PYTHON) -m pip --python $@ install --quiet --disable-pip-version-check pip; } \
	  || { rm -rf .venv; exit 1; }

.venv/.base: $(BIN)/python pyproject.toml constraints.txt
	@echo "installing discreet into .venv ..." >&2
	@$(PIP) -e .
	@touch $@

.venv/.dev: .venv/.base
	@echo "installing what the tests need ..." >&2
	@$(PIP) -e ".[dev]"
	@touch $@

.venv/.bench: .venv/.base
	@echo "installing what the benchmarks compare with ..." >&2
	@$(PIP) -e ".[bench]"
	@touch $@

.venv/.docs: .venv/.base
	@echo "installing what the documentation is built with ..." >&2
	@$(PIP) -e ".[docs]"
	@touch $@
