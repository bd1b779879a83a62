# Each target does all its own set-up: a virtual environment in .venv with pinned versions.
PYTHON ?= python3
BIN := .venv/bin
PIP := PIP_CONSTRAINT=$(CURDIR)/constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet
SETUP := pyproject.toml constraints.txt
RESEARCH_SETUP := research/pyproject.toml
SECONDS ?= 60
SEED ?= 0
# Compiled modules are kept: the tests start hundreds of processes, and each would compile them again.
unexport PYTHONDONTWRITEBYTECODE
TEST_EXTRAS := plot,qasm,aer,ibm,pennylane,qiskit-ml,parquet,cluster,serve,docs,dev

.PHONY: demo test check checked pytest browser chaos figures pictures figures-status docs notebooks constraints clean

demo: .venv/.demo
	@$(BIN)/aqka demo

# Checks mostly need one core: they run alongside the tests, and their results are printed afterwards.
test:
	@$(MAKE) --silent --no-print-directory -j2 .venv/.test browser
	@$(MAKE) --no-print-directory -j2 checked pytest; ended=$$?; cat build/check.txt; exit $$ended

pytest: .venv/.test browser
	@$(BIN)/python -m pytest -n auto

checked: .venv/.test
	@mkdir -p build
	@$(MAKE) --no-print-directory check > build/check.txt 2>&1

check: .venv/.test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tests/size.py

browser:
	@.ci/chromium

# Kills, damage, swaps, full disks, lying backends: make chaos SECONDS=3600 SEED=1
# Then file operations of short runs, killed, torn or failing, for as long again.
chaos: .venv/.test
	@$(BIN)/python -m tests.chaos --seconds $(SECONDS) --seed $(SEED)
	@$(BIN)/python -m tests.chaos.file_faults --seconds $(SECONDS) --seed $(SEED)

# Pages of docs/measured that are out of date: make figures PAGES="total tiles" QUICK=1 FORCE=1 WORKERS=2 SCHEDULER=tcp://node:8786
figures: .venv/.bench
	@$(BIN)/python -m aqka_research.figures $(PAGES) $(if $(QUICK),--quick) $(if $(FORCE),--force) \
		$(if $(WORKERS),--workers $(WORKERS)) $(if $(SCHEDULER),--scheduler $(SCHEDULER))
	$(if $(PAGES)$(QUICK),,@$(MAKE) --no-print-directory pictures)

# The pictures of the other pages, which the tests compare with what these pages draw.
pictures: .venv/.test browser
	@AQKA_DRAW=1 $(BIN)/python -m pytest --quiet docs
	@$(BIN)/python -m tests.report.picture

figures-status: .venv/.test
	@$(BIN)/python -m aqka_research.figures --status $(PAGES)

docs: .venv/.docs
	@rm -rf docs/reference/generated
	@$(BIN)/sphinx-build --fail-on-warning --keep-going --nitpicky --quiet docs build/docs
	@echo "The site: build/docs/index.html"

# Runs the tutorial's pages and keeps what they show.
notebooks: .venv/.test
	@$(BIN)/python docs/_ext/notebooks.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "aqka needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Making a virtual environment in .venv"
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/.demo: $(SETUP) | $(BIN)/python
	@echo "Installing aqka (the first time takes a minute)"
	@$(PIP) --editable '.[plot]'
	@touch $@

.venv/.test: $(SETUP) $(RESEARCH_SETUP) | $(BIN)/python
	@echo "Installing aqka with everything its tests need (the first time takes a few minutes)"
	@$(PIP) 'setuptools>=77'  # for both packages at once: an isolated build would fetch it four times
	@$(PIP) --no-build-isolation --no-compile --editable '.[$(TEST_EXTRAS)]' --editable ./research
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' .venv/lib || true  # pip would use one core
	@touch $@ .venv/.demo .venv/.docs

.venv/.docs: $(SETUP) $(RESEARCH_SETUP) | $(BIN)/python
	@echo "Installing aqka and what builds its documentation"
	@$(PIP) --editable '.[docs]' --editable ./research
	@touch $@

.venv/.bench: .venv/.test
	@echo "Installing the libraries that the benchmarks compare with"
	@$(PIP) --editable . --editable './research[peers]'
	@touch $@

# Takes the newest versions that pyproject.toml allows and pins them.
constraints:
	@rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	@build/constraints/bin/python -m pip install --quiet --editable '.[$(TEST_EXTRAS)]' --editable './research[peers]' 'setuptools>=77'
	@build/constraints/bin/python -m pip freeze --all --exclude-editable --exclude pip > constraints.txt

clean:
	@rm -rf .venv build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
