#!/usr/bin/env bash
# Build the wheel and the source archive into dist/, and see that both install into an empty environment and answer.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist
.venv/bin/python -m hatchling build -d dist >/dev/null
if tar tzf dist/*.tar.gz | grep -E '^[^/]+/(tests|benchmarks)/'; then
  echo "the source archive holds tests" >&2
  exit 1
fi
.venv/bin/python scripts/sbom.py dist/byheart.cdx.json
checker=$(mktemp -d)
trap 'rm -rf "$checker"' EXIT
python3 -m venv --without-pip "$checker/env"
python3 -m pip --python "$checker/env/bin/python" install --quiet --disable-pip-version-check twine
"$checker/env/bin/twine" check --strict dist/*.whl dist/*.tar.gz
for file in dist/*.whl dist/*.tar.gz; do
  place=$(mktemp -d)
  python3 -m venv "$place/env" 2>/dev/null || python3 -m venv --without-pip "$place/env"
  if "$place/env/bin/python" -m pip --version >/dev/null 2>&1; then
    "$place/env/bin/python" -m pip install --quiet --disable-pip-version-check "$file"
  else
    python3 -m pip --python "$place/env/bin/python" install --quiet --disable-pip-version-check "$file"
  fi
  HOME=$place BYHEART_HOME=$place/home "$place/env/bin/byheart" remember "never push to main" >/dev/null
  HOME=$place BYHEART_HOME=$place/home "$place/env/bin/byheart" rules | grep -q "push to main"
  echo "$file installs and answers ($("$place/env/bin/byheart" --version))"
  rm -rf "$place"
done
