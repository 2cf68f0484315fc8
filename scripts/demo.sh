#!/usr/bin/env bash
# The main job: learns from the sessions that agents left on this machine, or from a sample where there are none, and shows the
# brief that the next session would be handed. Agents' files are only read. scripts/demo.sh PATH_TO_BYHEART
set -euo pipefail
trap 'exit 130' INT
byheart=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
python=$(dirname "$byheart")/python
sample=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/sample
export BYHEART_CHILD=1
# The notes beside each result go to stderr; shown together here, as on a terminal.
exec 2>&1

try() {
  printf '\n$ byheart'
  for word in "$@"; do
    case $word in *[!A-Za-z0-9_./=:-]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  printf '\n'
  "$byheart" "$@" </dev/null || true
}

# The project that was worked on last, by its id.
latest() {
  "$byheart" sessions --no-refresh --no-subagents -n 200 --json 2>/dev/null </dev/null | "$python" -c '
import json, sys
rows = json.load(sys.stdin)
known = [row.get("session", row).get("project") for row in rows]
print(next((name for name in known if name), ""))' || true
}

own=${BYHEART_HOME:-$HOME/.byheart}
[ -e "$own" ] && had=yes || had=
echo "Looking for agent sessions on this machine (read-only; the first time takes longer) ..."
if [ "$("$byheart" sessions -n 1 --json </dev/null 2>/dev/null)" != "[]" ]; then
  where="What was learnt is stored in $own, as Markdown. Your edits are never overwritten."
else
  # The look itself has left an empty index behind.
  [ -n "$had" ] || rm -rf "$own"
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  echo "No sessions found. Using a small sample instead: a shop built with four agents."
  export HOME="$sample" BYHEART_HOME="$place/byheart"
  where="The sample's memory was temporary and has been deleted."
fi
cd "${place:-/}"
try learn
project=$(latest)
if [ -n "$project" ]; then
  printf '\nThe brief that the next session in %s would receive:\n' "${project%-*}"
  try memory view --project "$project"
  try memory stats --project "$project"
fi

cat <<TEXT

$where

  $byheart init              connect your agents
  $byheart brief             the brief for the current project
  $byheart recall WORDS      search memory
  $byheart remember "..."    save a preference or rule
  $byheart inbox             decide on uncertain items
  $byheart help              all commands
TEXT
