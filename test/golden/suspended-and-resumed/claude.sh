#!/bin/sh
# Stands in for claude: out of quota until the file `quota` is there. It resets at 2026-01-02T05:00:00Z.
cat > /dev/null
if [ ! -e "$HOME/quota" ]; then
  echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1767330000}}'
  echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"limit reached"}'
  exit 1
fi
echo asked >> log.txt
echo '{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":0.25,"usage":{"input_tokens":5,"output_tokens":3},"structured_output":{"outcome":"success","preferred_next_label":"","suggested_next_ids":[],"context_updates":{},"verification_plan":null,"notes":"done","failure_reason":""}}'
