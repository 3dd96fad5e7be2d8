#!/usr/bin/env bash
# play-again.sh REPORT: plays the files with failed tests again, each three times and by itself, and exits with 0 if nothing fails. REPORT is what
# test/tools/outcome.ts wrote; PATH and TEST_SCOPE are those of its run. A failure outside of a test, or in more than three files, is nothing rare: it
# exits with 1 at once.
set -euo pipefail

readonly MOST=3 TIMES=3
readonly TITLE='^([^ ]+) \[([a-z-]*)\] › .*'

failures="$(tail -n +2 "$1")"
if [[ -z "$failures" ]] || grep -qvE "$TITLE" <<<"$failures"; then exit 1; fi
mapfile -t files < <(sed -E "s/$TITLE/\1 \2/" <<<"$failures" | sort -u)
((${#files[@]} <= MOST)) || exit 1

vitest="$(dirname "$0")/../node_modules/vitest/vitest.mjs"
unset TEST_REPORT
for one in "${files[@]}"; do
  read -r file project <<<"$one"
  for ((time = 1; time <= TIMES; time++)); do
    echo "--- again, $time of $TIMES: $file"
    node "$vitest" run ${project:+--project "$project"} "$file" || exit 1
  done
done
