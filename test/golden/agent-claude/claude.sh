#!/bin/sh
# Stands in for claude: writes what it was asked to a file, and ends as the program does.
cat > asked.txt
printf '%s\n' '{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "cat task.txt"}}]}}'
printf '%s\n' '{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "is_error": false}]}}'
printf '%s\n' '{"type": "result", "subtype": "success", "is_error": false, "result": "", "total_cost_usd": 0.25, "usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 3}, "structured_output": {"outcome": "success", "preferred_next_label": "", "suggested_next_ids": [], "context_updates": {"colour": "green"}, "verification_plan": null, "notes": "done", "failure_reason": ""}}'
