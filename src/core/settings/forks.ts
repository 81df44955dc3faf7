/** Which attributes of nodes a request may set in a fork: what a node does, and how much of time and money it may take. Never what it
 *  may reach: secrets, folders, the network, the holdout, a sandbox. Who can only reach the page gets no more than the run had. */

const offered: readonly string[] = [
  ...['prompt', 'prompt_file', 'prompt_expand', 'failure_feedback', 'tool_command', 'command.run'],
  ...[
    'agent.backend',
    'agent.mode',
    'llm_provider',
    'llm_model',
    'codex.model',
    'claude.model',
    'command.model',
    'acp.command',
    'acp.model',
  ],
  ...['reasoning_effort', 'fidelity', 'thread_id', 'response_file', 'response_check', 'auto_status'],
  ...['verification.allowed_commands', 'verification.workdir', 'verification.plan_context_key'],
  ...[
    'timeout',
    'stall_timeout',
    'claude.timeout',
    'codex.timeout_seconds',
    'command.timeout',
    'acp.timeout',
  ],
  ...['max_visits', 'max_turns', 'claude.max_turns', 'max_same_calls', 'breaker'],
  ...['max_wall', 'max_cost_usd', 'max_tokens', 'uses_reserve'],
  ...['max_retries', 'retry_delay', 'retry_backoff', 'retry_max_delay', 'retry_on', 'allow_partial', 'rerun'],
  ...['goal_gate', 'retry_target', 'fallback_retry_target', 'requires_tool_success', 'required_tool_node'],
  ...['allowed_write_paths', 'allow_no_tests'],
  ...['question', 'mode', 'human.default_choice', 'human.timeout', 'timeout_action'],
  ...['max_parallel', 'join_policy', 'k', 'quorum_fraction', 'error_policy', 'merge', 'merge_context'],
  ...['branch_summary', 'for_each', 'foreach_key', 'item_key'],
];

/** Names for them that people write. */
const spoken: readonly string[] = ['command', 'model'];

/** Of an attribute by its own name. */
export const isOfferedToForks = (attribute: string): boolean => offered.includes(attribute);

/** Of `NODE.ATTRIBUTE`; a node's id may have dots. */
export const mayBeSetInFork = (name: string): boolean =>
  [...offered, ...spoken].some((attribute) => name.endsWith(`.${attribute}`));
