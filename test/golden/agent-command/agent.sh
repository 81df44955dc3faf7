#!/bin/sh
# Any program as an agent: the prompt comes in, the answer goes out.
prompt=$(cat)
case "$prompt" in *task.txt*) cp task.txt hello.txt ;; esac
printf '%s\n' '{"outcome": "success", "preferred_next_label": "", "suggested_next_ids": [], "context_updates": {"colour": "green"}, "verification_plan": null, "notes": "done", "failure_reason": ""}'
