#!/usr/bin/env bash
# Usage: scripts/install-hypercorn.sh [--installed]
#
# Prints the folder of the Hypercorn that the chaos soak is pinned to, for PYTHONPATH, and installs it first when it is not cached.
set -euo pipefail
. "$(dirname "$0")/installed.sh"

# What Hypercorn speaks HTTP/2 by is pinned, too.
version=0.18.0
packages=("hypercorn==$version" h2==4.4.1 hpack==4.2.0 hyperframe==6.1.0 h11==0.16.0 priority==2.0.0 wsproto==1.3.2)
dir="${XDG_CACHE_HOME:-$HOME/.cache}/dodici/hypercorn-$version"

runs() {
  PYTHONPATH="$1" python3 -c 'import hypercorn.__main__' 2>/dev/null
}

fill() {
  python3 -m pip install --quiet --no-deps --only-binary=:all: --root-user-action=ignore --target "$1" "${packages[@]}"
}

provide "$dir" "$@"
echo "$dir"
