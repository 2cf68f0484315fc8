#!/usr/bin/env bash
# Shows byheart at work: on the sessions of this machine's agents, or on a sample where there are none, then on a few memories.
# What it makes lies in a throw-away home; agents' files are only read. scripts/demo.sh PATH_TO_BYHEART
set -euo pipefail
byheart=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
sample=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/sample
real=${HOME:-/}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/shop/.git"
# The notes beside each result go to stderr; shown together here, as on a terminal.
exec 2>&1
cd "$place/shop"
export HOME="$place" BYHEART_HOME="$place/home" NO_COLOR=1 BYHEART_CHILD=1

try() {
  printf '\n$ byheart'
  for word in "$@"; do
    case $word in *[!A-Za-z0-9_./=:-]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  printf '\n'
  "$byheart" "$@" </dev/null | sed "s#$place#~#g" || true
}

# Agents' transcripts are looked for in this home; byheart's own files stay in the throw-away one.
agents=$real
in_home() { (
  export HOME="$agents"
  try "$@"
); }

echo "What the agents on this machine left behind (transcripts are only read; the first look takes a while):"
if ! HOME="$agents" "$byheart" sessions -n 1 >/dev/null 2>&1 </dev/null; then
  echo "No sessions were found here, so a small sample stands in."
  agents=$sample
fi
in_home sessions -n 8 --no-subagents
in_home sessions stats
in_home how test --all -n 2
if [ "$agents" = "$sample" ]; then
  in_home fix "listen EADDRINUSE: address already in use" --all
  in_home blame src/cart.js --all
fi

printf '\nMemories, in a home that is thrown away afterwards:\n'
try remember "add to memory that never run build repeatedly because it is heavy"
try remember "I prefer pnpm"
try remember --key writing.tone concise
try remember --issue "tests hang" --outcome "CI times out" --fix "raise the timeout to 60 s"
try remember "never run build repeatedly because it is heavy"
try profile
try rules
try recall "pnpm or npm"
try forget writing.tone
try remember --key code.quotes double
try undo
try journal append "Chose Postgres over SQLite for the queue" --category decision
try journal append "Never deploy on Fridays" --category user-preference
try journal append "Deploying on Fridays is fine"
try journal scan
try journal context
try show --local
try log

cat <<TEXT

To use it for real, in any project of yours:

  $byheart init
  $byheart remember "I prefer pnpm"
  $byheart profile

Ask your own sessions: $byheart sessions, how, fix, blame (docs/agents.md says which agents are read).
Memory then lives in ~/.byheart, as files that you can read and edit. README.md has the rest.
TEXT
