# Two commands to begin with: `make run` and `make test`. Everything lives in .venv; nothing outside this folder changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HOME_DIR ?= .run
STAMP := $(VENV)/.installed

.PHONY: run test check format faults bench fuzz clean

run: $(STAMP)
	$(BIN)/ahpd --home $(HOME_DIR) --agent echo

test: $(STAMP)
	$(BIN)/python -m pytest

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

faults: $(STAMP)
	$(BIN)/python -m pytest tests/faults --override-ini addopts="-q -s" $(FAULTS)

bench: $(STAMP)
	$(BIN)/python -m bench $(BENCH)

clean:
	rm -rf $(VENV) $(HOME_DIR)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@
