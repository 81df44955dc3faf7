#!/bin/sh
# Stands in for codex: takes the file for its answer from its arguments, works, and leaves the answer there.
while [ $# -gt 0 ]; do case "$1" in -o) out=$2 ;; esac; shift; done
cat > /dev/null
echo hello > hello.txt
printf '%s' '{"outcome": "success", "preferred_next_label": "", "suggested_next_ids": [], "context_updates": {"colour": "green"}, "verification_plan": null, "notes": "done", "failure_reason": ""}' > "$out"
