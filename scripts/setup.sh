#!/usr/bin/env bash
# Installs the pinned dependencies and proves that the pinned Node runs. If something is missing, says what to install.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "setup: $1" >&2; exit 1; }
command -v node >/dev/null || fail "Node.js is missing. Install Node 20 or newer (https://nodejs.org, or your distribution's package 'nodejs'); the project then brings its own Node 24."
command -v npm >/dev/null || fail "npm is missing. Install it with Node.js (on Debian: apt-get install npm)."
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 20 ] || fail "Node $(node -v) is too old to run npm scripts here. Install Node 20 or newer."
echo "setup: installing the pinned dependencies (npm ci) …" >&2
start=$SECONDS
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# NODE_ENV=production, or `omit` in a npmrc, would leave out the tools and the pinned Node.
npm ci --include=dev --include=optional --no-audit --no-fund --loglevel=error >"$log" 2>&1 || { tail -n 30 "$log" >&2; fail "npm ci failed; the lines above tell why (often: no network to the package registry)."; }
if ! node_modules/.bin/node -e 'process.exit(process.versions.node.startsWith("24.") ? 0 : 1)' 2>/dev/null; then
  npm rebuild node >"$log" 2>&1 || true
  node_modules/.bin/node -e 'process.exit(process.versions.node.startsWith("24.") ? 0 : 1)' 2>/dev/null ||
    fail "the pinned Node 24 did not install (are npm install scripts disabled?). Run: npm rebuild node --ignore-scripts=false"
fi
echo "setup: done in $((SECONDS - start)) s, Node $(node_modules/.bin/node -v)" >&2
