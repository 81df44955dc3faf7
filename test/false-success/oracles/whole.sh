#!/usr/bin/env bash
# Right is a product that the oracles of all cases of its specification call right, each in a copy.
set -u
cases=$(cd "$(dirname "$0")/../cases" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in $(grep -lx "product $1" "$cases"/*/cheat.sh); do
  name=$(basename "$(dirname "$file")")
  cp -R . "$work/$name"
  (cd "$work/$name" && bash "$cases/$name/oracle.sh" >"$work/out" 2>&1) || { echo "$name calls it wrong: $(tail -n 1 "$work/out")"; exit 1; }
done
