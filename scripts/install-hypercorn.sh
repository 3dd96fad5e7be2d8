#!/usr/bin/env bash
# Usage: scripts/install-hypercorn.sh [--installed]
#
# Prints the folder of the Hypercorn that the chaos soak is pinned to, for PYTHONPATH, and installs it first when it is not cached.
# Everything but that path goes to stderr, so the output can be captured. With --installed it installs nothing, and fails when it
# would.
set -euo pipefail

# Exact versions, as in install-envoy.sh. What Hypercorn speaks HTTP/2 by is pinned, too.
version=0.18.0
packages=("hypercorn==$version" h2==4.4.1 hpack==4.2.0 hyperframe==6.1.0 h11==0.16.0 priority==2.0.0 wsproto==1.3.2)

dir="${XDG_CACHE_HOME:-$HOME/.cache}/dodici/hypercorn-$version"

runs() {
  PYTHONPATH="$1" python3 -c 'import hypercorn.__main__' 2>/dev/null
}

if ! runs "$dir"; then
  [[ "${1:-}" != '--installed' ]] || exit 1
  echo "installing Hypercorn $version into $dir" >&2
  mkdir -p "$(dirname "$dir")"
  # Installed beside the cache and moved in place, so an interrupted install is never taken for a good one.
  fresh="$(mktemp -d "$dir.XXXXXX")"
  trap 'rm -rf "$fresh"' EXIT
  python3 -m pip install --quiet --no-deps --only-binary=:all: --root-user-action=ignore --target "$fresh" "${packages[@]}" >&2
  if ! runs "$fresh"; then
    echo "$0: the installed Hypercorn doesn't run" >&2
    exit 1
  fi
  rm -rf "$dir"
  mv "$fresh" "$dir"
fi

echo "$dir"
