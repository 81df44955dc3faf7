#!/bin/sh
# Stands in for an agent's program: notes what it was given in $SEEN, then does what $STAND_IN says.
SEEN=${SEEN:-$FACTORY_NODE_DIR/seen}
mkdir -p "$SEEN"
: > "$SEEN/argv"
for word in "$@"; do printf '%s\n' "$word" >> "$SEEN/argv"; done
echo "$PWD" > "$SEEN/cwd"
cat > "$SEEN/stdin"
env > "$SEEN/env"
find . ! -type d > "$SEEN/files"
say() { printf '%s\n' "$1"; }
# Calls of tools, as claude tells them, with their results.
did() { say '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"'"$1"'","name":"Bash","input":{"command":"'"$2"'"}}]}}'
  say '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"'"$1"'","is_error":'"${3:-false}"'}]}}'; }
ended() { say '{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":0.25,"usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":3},"structured_output":'"$1"'}'; }
ok() { ended '{"outcome":"success","preferred_next_label":"on","suggested_next_ids":[],"context_updates":{},"verification_plan":null,"notes":"done","failure_reason":""}'; }
eval "${STAND_IN:-ok}"
