/** Attributes that a node sets for its agent, of any backend. */
import {
  anyPath,
  anyPaths,
  count,
  duration,
  flag,
  list,
  paths,
  present,
  text,
  word,
} from '../model/attribute.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Graph, Node } from '../model/graph.ts';

const codex = {
  'codex.path': anyPath(),
  'codex.sandbox': text(),
  'codex.approval': text(),
  'codex.workdir': anyPath(),
  'codex.model': text(),
  'codex.profile': text(),
  'codex.add_dirs': anyPaths(),
  'codex.block_read_paths': paths(),
  'codex.auto_approve_commands': list(),
  'codex.auto_approve_config_key': text(),
  'codex.config_overrides': text(),
  'codex.env_keys': list(),
  'codex.timeout_seconds': duration(),
  'codex.heartbeat_seconds': duration(),
  'codex.skip_git_repo_check': flag(),
  'codex.dangerous_bypass': flag(),
  'codex.strict_read_scope': flag(),
  'codex.disable_mcp': flag(),
  'codex.json': flag(),
} as const;

const claude = {
  'claude.path': anyPath(),
  'claude.workdir': anyPath(),
  'claude.model': text(),
  'claude.permission_mode': text(),
  'claude.allowed_tools': text(),
  'claude.disallowed_tools': text(),
  'claude.max_turns': count(1),
  'claude.add_dirs': anyPaths(),
  'claude.settings': text(),
  'claude.args': text(),
  'claude.timeout': duration(),
  'claude.heartbeat': duration(),
  'claude.env_keys': list(),
  'claude.block_read_paths': paths(),
} as const;

const promptVia = word('stdin', 'file', 'arg');
const responseVia = word('auto', 'file', 'stdout', 'none');
const responseFormat = word('auto', 'json', 'text', 'outcome');
const command = {
  'command.run': text(),
  'command.workdir': anyPath(),
  'command.model': text(),
  prompt_via: promptVia,
  'command.prompt_via': promptVia,
  response_via: responseVia,
  'command.response_via': responseVia,
  response_format: responseFormat,
  'command.response_format': responseFormat,
  'command.env_keys': list(),
  'command.home': list(),
  'command.timeout': duration(),
  'command.heartbeat': duration(),
  'command.block_read_paths': paths(),
  network: word('on', 'off'),
} as const;

/** What the agent `fake` answers. */
const fake = {
  'test.outcome': text(),
  'test.outcome_sequence': text(),
  'test.preferred_next_label': text(),
  'test.suggested_next_ids': text(),
  'test.notes': text(),
  'test.context_updates_json': text(),
  'test.verification_plan_json': text(),
} as const;

/** When a stalled agent is stopped before its timeout; the graph may set defaults for all nodes. */
export const stallAttributes = { stall_timeout: duration(), max_same_calls: count() } as const;

/** Each of them lets a node's agent read the holdout. */
export const openHoldout = {
  'codex.allow_read_scenarios': flag(),
  'claude.allow_read_scenarios': flag(),
  'command.allow_read_scenarios': flag(),
  'openai.allow_read_scenarios': flag(),
} as const;

export const agentAttributes = {
  ...codex,
  ...claude,
  ...command,
  ...fake,
  ...openHoldout,
  ...stallAttributes,
} as const;

/** The error for a strict read scope that names nothing below the workspace: everything would stay readable. Which of the
 *  absolute paths lie in the workspace is known only when the node starts. */
export function strictScope(node: Node, graph: Graph): readonly Diagnostic[] {
  const strict = present(node.attrs, 'codex.strict_read_scope');
  if (strict === undefined || !/^(?:1|t|true|yes)$/i.test(strict.value.text.trim())) return [];
  const named = ['codex.workdir', 'codex.add_dirs'].flatMap((key) =>
    (present(node.attrs, key)?.value.text ?? '').split(',').map((path) => path.trim()),
  );
  if (named.some((path) => !/^[./]*$/.test(path) || path.startsWith('..') || path.includes('${'))) return [];
  return [
    {
      code: 'strict-read-scope',
      severity: 'error',
      message: `codex.strict_read_scope of "${node.id}" hides nothing: its codex.workdir is the whole workspace`,
      place: { file: graph.file, span: strict.valueSpan },
      fix: 'name the folder that it may see: codex.workdir="app" (or codex.add_dirs); codex.block_read_paths hides single paths',
    },
  ];
}
