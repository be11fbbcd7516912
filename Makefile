# Two commands do everything on a fresh machine with Python 3.11: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
WORKERS ?= 2

PAPERS ?= --quick

.PHONY: demo test test-slow check docs papers bench format release clean
.DEFAULT_GOAL := demo

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Evenhand needs Python 3.11 or newer; this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)

# Each stamp is one step of installation; it is repeated only when what it depends on has changed.
$(VENV)/core.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt --editable .
	@touch $@

# torch comes first and alone: whatever wants it afterwards finds the CPU build in place.
$(VENV)/torch.stamp: constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt torch
	@touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/core.stamp $(VENV)/torch.stamp
	$(PIP) install --quiet --constraint constraints.txt --editable '.[test]'
	@touch $@

$(VENV)/check.stamp: pyproject.toml $(VENV)/test.stamp
	$(PIP) install --quiet --constraint constraints.txt --editable '.[check]'
	@touch $@

$(VENV)/docs.stamp: pyproject.toml $(VENV)/test.stamp
	$(PIP) install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

$(VENV)/release.stamp: pyproject.toml $(VENV)/core.stamp
	$(PIP) install --quiet --constraint constraints.txt --editable '.[release]'
	@touch $@

demo: $(VENV)/core.stamp
	$(BIN)/evenhand demo

# One thread per worker: two workers with two threads each would only wait for one another.  A file's tests stay with one worker, so
# that what they share is made once.  What failed is tried once more, alone and in sight: a crowded machine's clock is no fault of the
# code, and whatever is wrong with the code fails again.
PYTEST := OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1 $(BIN)/python -m pytest
tests_of = $(PYTEST) -n $(WORKERS) --dist loadfile -m $(1) || { [ $$? -eq 1 ] && echo "== what failed, once more and alone" \
	&& $(PYTEST) -n 0 --last-failed --last-failed-no-failures none -m $(1); }

test: $(VENV)/test.stamp
	$(call tests_of,'not slow')

test-slow: $(VENV)/test.stamp
	$(call tests_of,slow)

# Format, lint, types, layers, fast tests: what a change must pass.  The slow tests are apart.
check: $(VENV)/check.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

# The site, strictly and offline, in site/; then everything that it shows is done.
docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) tests/website

# Every table and figure of the five papers, in short; `make papers PAPERS=--full` takes days.  What is known already is not computed again.
papers: $(VENV)/test.stamp
	$(BIN)/python -m papers --all $(PAPERS)

# Every script to its end, whatever another one does, JOBS at a time; what each printed is kept beside its figures, and the failed ones
# are named last.
JOBS ?= 1

bench: $(VENV)/test.stamp
	@mkdir -p bench-results; rm -f bench-results/failed
	@ls benchmarks/*.py | OMP_NUM_THREADS=1 xargs -P $(JOBS) -I % sh -c 'kept=bench-results/$$(basename % .py); echo "== %"; \
		$(BIN)/python % --quick --json $$kept.json > $$kept.txt 2>&1 || { tail -n 5 $$kept.txt; echo % >> bench-results/failed; }'
	@[ ! -e bench-results/failed ] || { echo "failed:"; cat bench-results/failed; exit 1; }

format: $(VENV)/check.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Wheel and source archive, both checked, and the wheel tried in an environment of its own: the demo must end as it does here.
release: $(VENV)/release.stamp
	rm -rf dist $(VENV)/release
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv $(VENV)/release
	$(VENV)/release/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt dist/*.whl
	cd $(VENV)/release && bin/evenhand --version && bin/evenhand demo

clean:
	rm -rf dist $(VENV) bench-results .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
