#!/usr/bin/env bash
# Tests of keep.
set -eu
KEEP_FILE=$(mktemp -d)/notes
export KEEP_FILE
is() { [ "$1" = "$2" ] || { printf 'expected %s, got %s\n' "$2" "$1"; exit 1; }; }
is "$(bin/keep.sh add buy milk)" 1
is "$(bin/keep.sh list)" '1 buy milk'
is "$(bin/keep.sh done 1)" '1 buy milk'
is "$(bin/keep.sh list)" ''
if bin/keep.sh fly 2>/dev/null; then exit 1; fi
echo ok
