#!/usr/bin/env bash
# Resolve requirements.lock: core, book, lab and test, for Python 3.11 to 3.13.
# The first pass resolves live and ray too, so that adding them later moves no locked version.
set -euo pipefail
cd "$(dirname "$0")/.."

everything=$(mktemp)
trap 'rm -f "$everything"' EXIT
options=(pyproject.toml --extra book --extra lab --extra test --universal --python-version 3.11
         --no-emit-index-url --no-annotate --no-header --quiet)
uv pip compile "${options[@]}" --extra live --extra ray --constraint constraints-live.txt --output-file "$everything"
uv pip compile "${options[@]}" --constraint "$everything" --generate-hashes --output-file requirements.lock
