# Two commands matter: `make book` and `make test`. Everything is installed into .venv.
PYTHON ?= python3
VENV ?= .venv

.DEFAULT_GOAL := help
.PHONY: help book test check lab models live env-live lock sync clean env python

help:  ## list these targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1 |/' | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

book: env  ## run the notebooks on the committed scores and build the book (no torch)
	@"$(VENV)/bin/jupyter-book" build . -n -W --keep-going
	@echo "First page: $(CURDIR)/_build/html/book/intro.html"

test: env-live  ## every test (adds torch and transformers on first use)
	@"$(VENV)/bin/python" -m pytest

check: env  ## style and the quick tests, without torch
	@"$(VENV)/bin/ruff" check .
	@"$(VENV)/bin/ruff" format --check .
	@"$(VENV)/bin/python" -m pytest -q -m "not slow and not live"

lab: env  ## open the notebooks in JupyterLab
	@"$(VENV)/bin/jupyter-lab" notebooks

models: env-live  ## train the four mini models again (some hours on two cores; QUICK=1: a proof)
	@"$(VENV)/bin/python" -m models.train $(if $(QUICK),--quick --out _build/quick_models)

live: env-live  ## score the mini models on all scene data sets again, compare with cached_scores
	@"$(VENV)/bin/python" tools/score_all.py

sync: env  ## clean the notebooks and bring each .ipynb and .md pair in step
	@"$(VENV)/bin/python" tools/clean_notebooks.py

env-live: python  ## add what live scoring needs: torch, torchvision, transformers
	@"$(PYTHON)" tools/setup_env.py "$(VENV)" --live

env: python
	@"$(PYTHON)" tools/setup_env.py "$(VENV)"

python:
	@command -v "$(PYTHON)" >/dev/null || { echo "No '$(PYTHON)' here. Python 3.11, 3.12 or 3.13 is needed; name it with: make book PYTHON=/path/to/python3.12"; exit 1; }

lock:  ## for maintainers: resolve requirements.lock again (needs uv on the path)
	@tools/lock.sh

clean:  ## remove the built book and caches; .venv and scores stay
	rm -rf _build .pytest_cache .ruff_cache .hypothesis
