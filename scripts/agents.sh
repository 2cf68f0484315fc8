#!/usr/bin/env bash
# Install the agents that byheart is tried with into a cache folder: scripts/agents.sh FOLDER
# One that cannot be had is named, and its test is skipped.
set -euo pipefail
folder=$1
mkdir -p "$folder"
cd "$folder"
[ -f package.json ] || echo '{"name": "agents", "private": true}' >package.json
export npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false

get() {
  local package=$1 program=$2
  [ -x "node_modules/.bin/$program" ] && return 0
  echo "installing $package ..." >&2
  npm install --silent "$package" >/dev/null 2>&1 || echo "$package could not be installed" >&2
}

# Newer npm runs no install script until somebody says so.
settle() {
  npm install-scripts approve --all >/dev/null 2>&1 || true
  npm rebuild --silent >/dev/null 2>&1 || true
}

# Some of them want a newer Node than the machine may have; this one brings its own.
get node@24 node
get bun bun
settle
export PATH="$PWD/node_modules/.bin:$PATH"
get @anthropic-ai/claude-code claude
get @openai/codex codex
get @google/gemini-cli gemini
get opencode-ai opencode
get @github/copilot copilot
# Newer ones lack packages that they need.
get @oh-my-pi/pi-coding-agent@18.2.3 omp
get @mariozechner/pi-coding-agent@0.73.1 pi
get @qwen-code/qwen-code qwen
get @modelcontextprotocol/inspector mcp-inspector
settle
