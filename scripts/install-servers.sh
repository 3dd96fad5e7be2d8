#!/usr/bin/env bash
# Installs the HTTP/2 server that others wrote and the interop tests run against: nghttpd, of Debian's nghttp2.
set -euo pipefail

if command -v nghttpd >/dev/null; then
  nghttpd --version
  exit 0
fi

fail() {
  echo "$0: $1; the interop tests need nghttpd (https://nghttp2.org)" >&2
  exit 1
}

command -v apt-get >/dev/null || fail 'nghttpd is missing and there is no apt-get to install it with'

as_root=()
if [[ "$(id -u)" != 0 ]]; then
  command -v sudo >/dev/null || fail 'nghttpd is missing, and installing it needs root or sudo'
  as_root=(sudo)
fi

"${as_root[@]}" apt-get update -qq || fail 'apt-get update failed'
# `env` and not an assignment: sudo drops the caller's environment.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nghttp2 ||
  fail 'apt-get install nghttp2 failed'

command -v nghttpd >/dev/null || fail 'nghttp2 is installed and there is still no nghttpd'
nghttpd --version
