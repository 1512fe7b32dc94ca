# Two commands that do their own set-up: `make train` and `make test`. The first call installs, later ones start at once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: train test test-all check format bench clean

train: $(VENV)/.agent  ## train the shipped policy with GRPO and show what it learned
	$(BIN)/grpo-gym train $(ARGS)

test: $(VENV)/.dev  ## run all tests but the long ones
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -q --numprocesses 2 --dist worksteal -m 'not long' $(ARGS)

test-all: $(VENV)/.dev  ## run all tests
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -q --numprocesses 2 --dist worksteal $(ARGS)

check: $(VENV)/.dev  ## lint, format, types, arrows between the packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## rewrite what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.agent  ## measure everything; ARGS=--quick for the short form
	$(BIN)/python benchmarks/run_all.py $(ARGS)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist

$(VENV)/.agent: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "grpo-gym needs Python 3.11 or newer; name one with: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[agent]'
	@touch $@

$(VENV)/.dev: $(VENV)/.agent
	$(PIP) --editable '.[agent,dev]'
	@touch $@
