# Thin targets; the logic is in dpexp. Each sets itself up in .venv, from nothing but Python >= 3.11 and make.
PYTHON ?= python3
VENV ?= .venv
PYTHON_LOWEST ?= python3.11
VENV_LOWEST ?= .venv-lowest
VENV_RELEASE ?= .venv-release
VENV_ACCOUNTANTS ?= .venv-accountants
VENV_PEERS ?= .venv-peers
TORCH ?= torch==2.13.0
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# what Python has compiled is kept in __pycache__, also where the environment forbids it: 4 s of each worker of the tests
export PYTHONDONTWRITEBYTECODE :=

.PHONY: reproduce test test-fast test-lowest reproduce-afresh smoke lint check bench shelf soak mutants review build build-data docs paper accountants peers clean

# Every experiment at full size, then every figure and table, the ledger of claims and the page of it all, into results/; at
# the end the numbers beside the published ones.
reproduce: $(READY)
	$(BIN)/dpexp reproduce

# The whole test suite, on two cores: a file's tests stay together, and the longest files come first.
test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The fast tests alone, as part of `make check`.
test-fast: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

# The fast tests on the lowest Python with the lowest versions that pyproject.toml declares, in an environment of its own.
test-lowest: $(VENV_LOWEST)/.ready
	$(VENV_LOWEST)/bin/python -m pytest -n 2 --dist loadfile -m "not slow"

# Every config at toy size through the same code, into results-smoke/.
smoke: $(READY)
	$(BIN)/dpexp run --profile smoke configs/*.yaml research/*/*.yaml
	$(BIN)/dpexp plot --format png --results results-smoke
	$(BIN)/dpexp plot --theory figure2 figure3 figure4 --results results-smoke
	$(BIN)/dpexp table --all --results results-smoke --out results-smoke/tables
	$(BIN)/dpexp claims ldp-sgd --judge --results results-smoke --out results-smoke || test $$? -eq 1  # toy runs settle little

# The papers of shelf/ at toy size, one of them in the shares of an array job.
shelf: $(READY)
	for k in 1 2 3; do $(BIN)/dpexp run --profile smoke --results build/shelf --part $$k/3 shelf/minimax/minimax.yaml || exit; done
	$(BIN)/dpexp run --profile smoke --results build/shelf shelf/*/*.yaml
	for name in adaptive batches bolton clipping cost inference minimax; do \
	  $(BIN)/dpexp plot $$name --format png --results build/shelf || exit; done

# Format, lint, types, and words that dpexp avoids.
lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/words.py

# Format, lint, types, the site, and the fast tests, which `make check test` leaves to `test`.
check: lint docs $(if $(filter test,$(MAKECMDGOALS)),,test-fast)

# Engines beside numpy and C++ loops, and beside jax and Opacus where they are installed: ratios of the same work in one
# run, into benchmarks/results.md.
bench: $(READY)
	$(BIN)/python -m benchmarks

# What a stranger meets first: `make reproduce` in a fresh clone of the last commit, with an empty cache. GOAL=smoke tries
# the same at toy size.
GOAL ?= reproduce
reproduce-afresh:
	rm -rf build/afresh && mkdir -p build/afresh/cache
	git clone --quiet . build/afresh/clone
	DPEXP_CACHE="$(CURDIR)/build/afresh/cache" $(MAKE) -C build/afresh/clone $(GOAL)

# What may go wrong, on purpose and at length: the whole reproduction afresh, faults of disks and processes, mutants of
# configs, attacks on every privacy analysis. Each prints its counts and fails if anything went unnoticed.
soak: $(READY) reproduce-afresh
	$(BIN)/python -m tests.campaigns.faults
	$(BIN)/python -m tests.campaigns.config_mutants
	$(BIN)/python -m tests.campaigns.sound_mechanisms
	$(BIN)/python -m tests.campaigns.random_numbers
	$(BIN)/python -m tests.campaigns.other_seeds
	DPEXP_TESTS=all $(BIN)/python -m pytest -n 2 --dist loadfile
	$(MAKE) peers

# What no test would notice: lines that are altered in a clone. It takes a day and goes on where it was stopped;
# `rm -r build/mutants` begins anew.
mutants: $(READY)
	$(BIN)/pip install -q -e '.[mutants]'
	test -d build/mutants || git clone -q . build/mutants
	cd build/mutants && git checkout -q . && export PATH=$(abspath $(BIN)):$$PATH PYTHONPATH=. && \
	  (test -e session.sqlite || cosmic-ray init tools/mutants.toml session.sqlite) && cosmic-ray baseline tools/mutants.toml && \
	  cosmic-ray exec tools/mutants.toml session.sqlite && cr-report session.sqlite

# The sdist and the wheel of what is committed, into dist/; then the wheel alone in an empty environment of each of PYTHONS,
# the lowest and the newest Python that are here, where the tutorial runs from its first command to its last. On the index's
# page, which shows README, links lead to the project's address.
PYTHONS ?= $(PYTHON_LOWEST) $(lastword $(PYTHON) $(foreach minor,12 13 14,$(shell command -v python3.$(minor))))
SOURCE = $(shell sed -n 's/^Source = "\(.*\)"/\1/p' pyproject.toml)
build: $(VENV_RELEASE)/.ready
	rm -rf dist build/empty build/source
	mkdir -p build/source && git archive HEAD | tar -x -f - -C build/source
	sed -E -e 's#(!\[[^]]*\]\()([a-z])#\1$(SOURCE)/raw/main/\2#' \
	  -e 's#(\]\()((docs|results|configs|benchmarks)/|[A-Z]+\.md)#\1$(SOURCE)/blob/main/\2#g' README.md > build/source/README.md
	$(VENV_RELEASE)/bin/python -m build --quiet --outdir dist build/source
	$(VENV_RELEASE)/bin/twine check --strict dist/*
	test -z "$$(find dist -size +3M)"  # a package index, and everybody who installs, is spared what is not needed
	for python in $(PYTHONS); do rm -rf build/empty && $$python -m venv build/empty/venv && \
	  build/empty/venv/bin/python -m pip install --quiet dist/*.whl && mkdir build/empty/folder && \
	  (cd build/empty/folder && ../venv/bin/python ../../../tools/tutorial.py ../../../docs/tutorial.md && ../venv/bin/dpexp --version -v) || exit; done

# The records of `fashion`, into build/data: a package of its own that is published once.
build-data: $(VENV_RELEASE)/.ready
	$(VENV_RELEASE)/bin/python -m build --quiet --wheel --outdir build/data tools/fashion
	$(VENV_RELEASE)/bin/twine check --strict build/data/*

# The site of docs/, into site/: a link that leads nowhere is an error, and a page asks nobody for anything when it is read.
SITE ?= site
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --clean --site-dir "$(SITE)"

# What public accountants print, beside an event test and our brackets, into docs/accountants.md.
accountants: $(READY) $(VENV_ACCOUNTANTS)/.ready
	mkdir -p build
	$(VENV_ACCOUNTANTS)/bin/python -m tools.accountants ask build/accountants.json
	$(BIN)/python -m tools.accountants build/accountants.json

# What needs large programs of others: the accountant inside Opacus and jax_privacy, fits beside statsmodels and scikit-learn.
peers: $(VENV_PEERS)/.ready
	$(VENV_PEERS)/bin/python -c 'import jax_privacy, opacus, sklearn, statsmodels'
	$(VENV_PEERS)/bin/python -m pytest tests/accounting/test_drop_in.py tests/peers

# The article, and a summary of each reproduction from the ledger's rows, as PDF where pandoc and xelatex are there (on
# Debian: apt-get install pandoc texlive-xetex texlive-latex-recommended lmodern); into build/paper.
paper: $(READY)
	$(BIN)/python -m tools.summaries build/paper
	command -v pandoc >/dev/null || { echo "no pandoc here: build/paper has the summaries as Markdown" >&2; exit 1; }
	cd paper && pandoc paper.md --citeproc $(PDF) --output ../build/paper/paper.pdf
	cd build/paper && for name in *.md; do pandoc "$$name" $(PDF) --output "$${name%.md}.pdf" || exit 1; done
PDF := --pdf-engine=xelatex --variable geometry:margin=22mm --variable fontsize=10pt --variable colorlinks=true

# What scientific Python projects are expected to have (pyproject.toml gives the reason for each check that is left out),
# spelling, and the workflows' permissions.
review: $(VENV_RELEASE)/.ready
	$(VENV_RELEASE)/bin/repo-review . --show err
	$(VENV_RELEASE)/bin/codespell
	$(VENV_RELEASE)/bin/zizmor --offline --quiet .github

clean:
	rm -rf $(VENV) $(VENV_LOWEST) $(VENV_RELEASE) $(VENV_ACCOUNTANTS) $(VENV_PEERS) site build dist *.egg-info results-smoke .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What has to be there before anything is installed; each line says what to do where it is not.
define REQUIRE
@command -v $(1) >/dev/null || { echo "make: no $(1) here: install Python 3.11 or later, or name one: make PYTHON=python3.12" >&2; exit 1; }
@$(1) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(1) is too old: name a Python 3.11 or later: make PYTHON=python3.12" >&2; exit 1; }
@$(1) -c 'import venv, ensurepip' 2>/dev/null || { echo "make: $(1) cannot make environments: install its venv (on Debian: apt-get install python3-venv)" >&2; exit 1; }
@$(1) -c 'import shutil, sys; sys.exit(shutil.disk_usage(".").free < 2e9)' || { echo "make: less than 2 GB of disk are free here: make room, or work on another disk" >&2; exit 1; }
endef

$(READY): pyproject.toml constraints.txt
	$(call REQUIRE,$(PYTHON))
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(VENV_LOWEST)/.ready: pyproject.toml constraints-lowest.txt
	$(call REQUIRE,$(PYTHON_LOWEST))
	$(PYTHON_LOWEST) -m venv $(VENV_LOWEST)
	PIP_CONSTRAINT=constraints-lowest.txt $(VENV_LOWEST)/bin/python -m pip install --quiet --editable '.[test]'
	touch $@

$(VENV_ACCOUNTANTS)/.ready:
	$(call REQUIRE,$(PYTHON))
	$(PYTHON) -m venv $(VENV_ACCOUNTANTS)
	PIP_CONSTRAINT= $(VENV_ACCOUNTANTS)/bin/python -m pip install --quiet dp-accounting==0.6.0 gdpnum==0.1.2
	PIP_CONSTRAINT= $(VENV_ACCOUNTANTS)/bin/python -m pip install --quiet --no-deps opacus==1.6.0  # one of its files is asked
	touch $@

$(VENV_PEERS)/.ready: pyproject.toml
	$(call REQUIRE,$(PYTHON))
	$(PYTHON) -m venv $(VENV_PEERS)
	PIP_CONSTRAINT= $(VENV_PEERS)/bin/python -m pip install --quiet $(TORCH) opacus==1.6.0 jax-privacy==2.0.0 statsmodels scikit-learn
	PIP_CONSTRAINT= $(VENV_PEERS)/bin/python -m pip install --quiet --editable '.[test]'
	touch $@

$(VENV_RELEASE)/.ready:
	$(call REQUIRE,$(PYTHON))
	$(PYTHON) -m venv $(VENV_RELEASE)
	PIP_CONSTRAINT= $(VENV_RELEASE)/bin/python -m pip install --quiet build twine 'sp-repo-review[cli]' codespell zizmor
	touch $@
