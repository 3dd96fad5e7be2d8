#!/usr/bin/env bash
# Usage: scripts/install-runtimes.sh bun|deno [--installed]
#
# Prints the path of the Bun or Deno that the tests are pinned to, and installs it first when it is not cached. Everything
# but that path goes to stderr, so the output can be captured. With --installed it installs nothing, and fails when it would.
set -euo pipefail

# Exact versions, as in install-node.sh. Without npm's install scripts: the binary is in a package of its own.
case "${1:-}" in
  bun) version=1.4.5 package=@oven/bun-linux-x64 path=bin/bun ;;
  deno) version=2.9.6 package=@deno/linux-x64-glibc path=deno ;;
  *)
    echo "usage: $0 bun|deno [--installed]" >&2
    exit 64
    ;;
esac

if [[ "$(uname -sm)" != 'Linux x86_64' ]]; then
  echo "$0: there is a pinned $1 for Linux x86_64 alone, and this is $(uname -sm)" >&2
  exit 1
fi

dir="${XDG_CACHE_HOME:-$HOME/.cache}/dodici/$1-$version"
binary="$dir/node_modules/$package/$path"

# `bun --version` prints 1.2.3, `deno --version` prints deno 1.2.3 and more.
runs() {
  [[ -x "$1" && "$("$1" --version 2>/dev/null)" =~ (^|^deno )"$version"($|[[:space:]]) ]]
}

if ! runs "$binary"; then
  [[ "${2:-}" != '--installed' ]] || exit 1
  echo "installing $1 $version into $dir" >&2
  mkdir -p "$(dirname "$dir")"
  # Installed beside the cache and moved in place, so an interrupted install is never taken for a good one.
  fresh="$(mktemp -d "$dir.XXXXXX")"
  trap 'rm -rf "$fresh"' EXIT
  npm install --prefix "$fresh" --no-audit --no-fund --ignore-scripts --loglevel=error "$package@$version" >&2
  if ! runs "$fresh/node_modules/$package/$path"; then
    echo "$0: the installed $1 doesn't run as $version" >&2
    exit 1
  fi
  rm -rf "$dir"
  mv "$fresh" "$dir"
fi

echo "$binary"
