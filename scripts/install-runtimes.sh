#!/usr/bin/env bash
# Usage: scripts/install-runtimes.sh bun|deno [--installed]
#
# Prints the path of the Bun or Deno that the tests are pinned to, and installs it first when it is not cached.
set -euo pipefail
. "$(dirname "$0")/installed.sh"

# The binary is in a package of its own, which needs no install script.
case "${1:-}" in
  bun) version=1.4.5 package=@oven/bun-linux-x64 path=bin/bun ;;
  deno) version=2.9.6 package=@deno/linux-x64-glibc path=deno ;;
  *)
    echo "usage: $0 bun|deno [--installed]" >&2
    exit 64
    ;;
esac

dir="$(toFolder "$1" "$version")"
binary="node_modules/$package/$path"

# `bun --version` prints 1.2.3, `deno --version` prints deno 1.2.3 and more.
runs() {
  [[ -x "$1/$binary" && "$("$1/$binary" --version 2>/dev/null)" =~ (^|^deno )"$version"($|[[:space:]]) ]]
}

fill() {
  add "$1" "$package@$version"
}

provide "$dir" "${@:2}"
echo "$dir/$binary"
