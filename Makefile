# `make demo` and `make test` set up all they need in .venv; nothing is installed anew unless pyproject.toml changed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# As many test processes as there are usable cores, four at most; each holds torch and computes on one thread.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(4, len(os.sched_getaffinity(0))))')

.PHONY: demo test check format benchmarks dashboard clean

demo: $(STAMP)
	$(BIN)/workbench run demo --store runs
	@echo "dashboard: make dashboard"

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmarks: $(STAMP)
	$(BIN)/python tests/benchmarks/evaluation.py
	$(BIN)/python tests/benchmarks/strategy_cost.py
	$(BIN)/python tests/benchmarks/large_store.py
	$(BIN)/python tests/benchmarks/dashboard.py

dashboard: $(STAMP)
	$(BIN)/workbench dashboard

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name it with: make PYTHON=python3.11 ..."; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[all]"
	@touch $(STAMP)

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache
