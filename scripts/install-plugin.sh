#!/usr/bin/env bash
# Puts `kubectl-svc` and `kubectl_complete-svc` into BINDIR (default ~/.local/bin), so that `kubectl svc` works.
# They run what `make build` made here, on the Node.js that the lock file pins, so the checkout has to stay.
set -euo pipefail
cd "$(dirname "$0")/.."
bindir=${BINDIR:-$HOME/.local/bin}
mkdir -p "$bindir"
put() {
  printf '#!/bin/sh\nexec "%s/node_modules/.bin/node" "%s/dist/kubectl-svc/%s.js" "$@"\n' "$PWD" "$PWD" "$2" >"$bindir/$1"
  chmod 755 "$bindir/$1"
}
put kubectl-svc kubectl-svc
put kubectl_complete-svc kubectl-complete-svc
echo "plugin: installed in $bindir" >&2
case ":$PATH:" in
  *":$bindir:"*) ;;
  *) echo "plugin: $bindir is not in your PATH; kubectl finds plugins there" >&2 ;;
esac
