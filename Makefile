# One command for each need. `make` alone lists them.
# PYTHON=python3.12 chooses the Python that .venv is made from; ARGS="..." goes on to the command itself.

PYTHON ?= $(if $(filter Windows_NT,$(OS)),python,python3)
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
ARGS ?=
JOBS ?= 2

# JupyterLab answers on this machine only, and asks no other machine for news or updates.
LAB_FLAGS := --ServerApp.ip=127.0.0.1 --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks/00_start.ipynb \
	--LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate \
	--LabApp.extension_manager=readonly \
	$(if $(filter 0,$(shell id -u 2>/dev/null)),--allow-root)

.DEFAULT_GOAL := help
.PHONY: help setup lab demo doctor test check generate notebooks book pictures lock clean

help: ## list these commands
	@sed -n 's/^\([a-z]*\):[^#]*## /  make \1 /p' Makefile | awk '{ printf "  make %-10s", $$2; $$1 = $$2 = ""; print }'

setup: ## make .venv from the hashed lock; does nothing when it is up to date
	@$(PYTHON) tools/setup.py

lab: setup ## open JupyterLab on the first notebook (ARGS="--no-browser --port 8899")
	@$(BIN)/jupyter-lab $(LAB_FLAGS) $(ARGS)

demo: setup ## 60 seconds in a terminal: the same crash on three engines
	@$(BIN)/labkit demo $(ARGS)

doctor: setup ## what works on this machine, and what to type for the rest
	@$(BIN)/labkit doctor $(ARGS)

test: setup ## run the whole suite (ARGS="-k lease" for a part)
	@$(BIN)/pytest -n $(JOBS) --dist worksteal -q $(ARGS)

check: setup ## style, types, layers, sizes, stale generated files
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m tools.generate --check
	@$(BIN)/pytest -q tests/test_tidy.py tests/test_setup.py
	@echo "make check: all in order"

generate: setup ## rebuild every generated file, notebooks included
	@$(BIN)/python -m tools.generate $(ARGS)

notebooks: setup ## rebuild the notebooks from notebooks/src
	@$(BIN)/python -m tools.generate notebooks

book: setup ## the executed course as pages, in _book: no server, no network; executes only what changed
	@$(BIN)/python -m tools.book

pictures: book ## take the screenshots that README.md shows
	@$(BIN)/python -m tools.pictures

lock: ## resolve the dependencies again (needs uv), then rebuild what is made from the lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
		--no-annotate --no-header --extra dev $(ARGS) pyproject.toml --output-file requirements.lock
	@$(MAKE) --no-print-directory generate

clean: ## remove .venv and the caches; your runs and notebooks stay
	@rm -rf .venv .book _book .pytest_cache .mypy_cache .ruff_cache .hypothesis
