#!/bin/sh
# The main job of leslie, on real files in a directory of its own: an
# objective, three threads, artifacts, a reference, a circular reference that is refused, and a
# script that branches on the exit status. Run by `make demo`.
set -eu

work=$(mktemp -d "${TMPDIR:-/tmp}/leslie-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
unset LESLIE_ROOT LESLIE_THREAD LESLIE_FORMAT LESLIE_OBJECTIVE LESLIE_AS LESLIE_OPERATOR LESLIE_TOKEN 2>/dev/null || true

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }
# expect STATUS COMMAND...: the command must end with exactly that status.
expect() {
  want=$1
  shift
  printf '$ %s\n' "$*"
  set +e
  "$@"
  got=$?
  set -e
  printf '  (exit status %s)\n' "$got"
  [ "$got" = "$want" ] || { echo "demo: expected exit status $want" >&2; exit 1; }
}

say "A store, and an objective for the work"
run leslie init
run leslie objective create --title "Ship the importer" --id obj-importer

say "Three threads: one designs, two build on it"
run leslie spawn --id design --objective obj-importer --intent "Design the import format"
run leslie spawn --id parser --objective obj-importer --intent "Write the parser" --tag go
run leslie spawn --id docs --objective obj-importer --intent "Document the format"

say "The design is written down, and the parser refers to it"
printf 'rows are records\nfields end in a tab\n' | run leslie artifact put design format.md
run leslie reference --from parser --target design
run leslie reference --from docs --target parser

say "A frozen reference does not drift when its target changes"
printf 'rows are records\nfields end in a comma\n' | run leslie artifact put design format.md
ref=$(leslie reference list parser --get references.0.id)
printf '$ cat "$(leslie reference resolve %s format.md --get file)"\n' "$ref"
cat "$(leslie reference resolve "$ref" format.md --get file)"

say "What the parser's agent gets before its prompt"
run leslie context parser

say "A reference that would close a circle is refused: T201, exit status 21"
expect 21 leslie reference --from design --target docs

say "A script branches on the exit status"
for id in parser pasrer; do
  status=0
  leslie done "$id" >/dev/null 2>&1 || status=$?
  case $status in
    0) echo "$id: done" ;;
    11) echo "$id: no such thread (T101); the nearest is $(leslie status "$id" --get error.details.nearest.0 2>/dev/null)" ;;
    12) echo "$id: not from this state (T102)" ;;
    *) echo "$id: exit status $status" ;;
  esac
done
expect 12 leslie suspend parser

say "The objective waits for the rest: T602, exit status 62"
expect 62 leslie objective complete obj-importer
run leslie done design
run leslie done docs
run leslie objective complete obj-importer

say "The same for an agent: one JSON response a command"
run leslie status parser --format json
expect 11 leslie status nobody --format json

say "And the store is whole"
run leslie doctor
