# make run   set everything up and hold a meeting; TOPIC="…" for a question of yours
# make test  set everything up and run every check
# make quick while you work: style, types, and the tests that are nearest to what you changed

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOPIC ?= Should a small team rewrite its working product from scratch?
LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --quiet

# The tests start many processes: each would compile all of Moot again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run quick test test-agents test-page test-docs check check-source check-page web catalogues lint bench bench-decisions bench-swarm lock release docs pictures clean

run: $(VENV)/.run
	@MOOT_FALLBACK=embedded $(BIN)/moot $(if $(filter file,$(origin TOPIC)),demo --ask,run) "$(TOPIC)"

# The daemon of mypy keeps what it knows: its first run takes minutes, each later one seconds. It crashes (2) where errors end it with 1
# when modules were removed meanwhile.
quick: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/dmypy run || { test $$? -ne 1 && $(BIN)/dmypy restart && $(BIN)/dmypy run; }
	@$(BIN)/python -m checks.nearest_tests --run

# Three side by side where there are two cores: a third of the time tests wait for a clock, a server or a browser.
test: check $(VENV)/.browser
	@$(BIN)/python checks/run_tests.py

# The examples, links and requirement ids of the docs.
test-docs: $(VENV)/.dev
	@$(BIN)/python -m pytest -n 3 --dist worksteal tests/docs

# The page alone.
test-page: $(VENV)/.dev $(VENV)/.browser
	@$(BIN)/python -m pytest -n 3 --dist worksteal tests/browser

check: check-source check-page

check-source: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy -n 2
	@$(BIN)/lint-imports
	@$(BIN)/python -m checks.source_figures --tight
	@$(BIN)/python checks/catalogues.py --check

check-page: $(VENV)/.dev
	@$(BIN)/python checks/page_build.py --check

# The page's sources are in web/; what it builds is committed, so that installing Moot needs no Node.
web: $(VENV)/.dev
	@$(BIN)/python checks/page_build.py

# The types of the texts, from the catalogues in src/moothall/locale.
catalogues: $(VENV)/.dev
	@$(BIN)/python checks/catalogues.py

# Real coding agents from npm (about 1 GB, once), each pointed at a loopback stand-in for its model.
test-agents: $(VENV)/.dev
	@$(BIN)/python -m pytest -n 0 -s checks

bench: $(VENV)/.dev
	@$(BIN)/python -m bench.engine
	@$(BIN)/python -m bench.engine.crowds
	@$(BIN)/python -m bench.engine.ledgers

bench-decisions: $(VENV)/.dev
	@$(BIN)/python -m bench.decisions --pictures docs
	@$(BIN)/python -m bench.calls

bench-swarm: $(VENV)/.dev
	@$(BIN)/python -m bench.swarm

lint: $(VENV)/.dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# The lock files name versions and hashes, never where they come from.
lock: $(VENV)/.dev
	@$(BIN)/pip install --quiet uv
	@$(BIN)/$(LOCK) --extra embedded --extra pdf --extra acp -o requirements.lock
	@$(BIN)/$(LOCK) --extra workers --extra anthropic --extra otel --extra pdf --extra acp --extra a2a --extra notify --extra docx -o deploy/requirements.lock
	@$(BIN)/$(LOCK) --extra embedded --extra postgres --extra workers --extra temporal --extra otel --extra anthropic --extra google --extra pdf --extra acp --extra a2a --extra notify --extra docx --group dev -o requirements-dev.lock

# Checks the changelog, builds twice and compares, lists what is inside; publishes nothing.
release: $(VENV)/.dev
	@$(BIN)/python checks/release.py "$(VERSION)"

# The site of the docs, in site/, with offline search: the reference is written from the code, and every link of it is followed.
docs: $(VENV)/.dev
	@test -x .cache/docs/bin/mkdocs || { $(PYTHON) -m venv .cache/docs && .cache/docs/bin/pip install --quiet --disable-pip-version-check "mkdocs-material>=9.6,<10" "jieba>=0.42"; }
	@$(BIN)/python -m checks.site_reference .cache/reference
	@NO_MKDOCS_2_WARNING=1 .cache/docs/bin/mkdocs build --strict --quiet
	@$(BIN)/python checks/site_links.py site
	@echo "site/index.html"

# The pictures that are drawn by a program: the terminal of the README, and which protocol when.
pictures: $(VENV)/.dev
	@$(BIN)/python checks/pictures.py

clean:
	rm -rf $(VENV) .cache dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Moot needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# A lock names everything: nothing is looked up beside it, where a newer release of a package with extras would be refused.
$(VENV)/.run: $(VENV)/bin/python requirements.lock pyproject.toml
	@echo "Setting up (once) …"
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@$(BIN)/moot setup embedded
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python requirements-dev.lock pyproject.toml testkit/pyproject.toml
	@echo "Setting up the tests (once) …"
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r requirements-dev.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e testkit
	@touch $@

# The page is tested in a real Chromium.
$(VENV)/.browser: $(VENV)/.dev checks/install_browser.py
	@$(BIN)/python checks/install_browser.py
	@touch $@
