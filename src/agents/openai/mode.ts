/** What a node's attributes say about how the model works: one answer, or a loop with tools, and within which limits.
 *  Their values have been checked with the pipeline. Pure. */
import {
  type AttributeTable,
  attr,
  count,
  duration,
  durationMs,
  word,
  words,
} from '../../model/attribute.ts';
import { own } from '../../model/own.ts';
import type { ToolScope } from '../../policy/tool-paths.ts';
import { type AgentTask, toolNames } from '../agent.ts';

export const openaiAttributes = {
  'agent.mode': attr(
    word('single', 'agent'),
    '`agent`: the model works with tools; `single`: one call, one answer.',
    {
      unset: 'agent with openai.tools, else single',
    },
  ),
  'openai.tools': attr(words(...toolNames), 'The tools of the model.', { unset: 'all of them' }),
  'openai.api': attr(word('auto', 'responses', 'chat'), 'Which API of the server is used.', {
    default: 'auto',
  }),
  'openai.run_timeout': attr(duration(), 'How long one call of the tool `run` may take.', { default: '10m' }),
  max_turns: attr(count(1), 'How often the model may answer in one session with tools.', { default: '50' }),
} as const satisfies AttributeTable;

export type Api = 'auto' | 'responses' | 'chat';

export type Loop = {
  readonly tools: readonly string[];
  /** False where the last text is the answer: the node keeps it in a file, or asks for a schema. */
  readonly finish: boolean;
  readonly maxTurns: number;
  /** In and out, summed over all turns. */
  readonly maxTokens: number | undefined;
  /** Whether a server that does not count its tokens may continue under `maxTokens`. */
  readonly uncounted: boolean;
  /** Milliseconds that one program may take. */
  readonly runMs: number;
  readonly scope: ToolScope;
};

const usualTurns = 50;
const usualRunMs = 600_000;
/** Hidden from every agent unless the node allows it. */
const scenarios = 'scripts/scenarios/';

/** `loop` is undefined where the model gets no tools. */
export function readMode(task: Pick<AgentTask, 'attributes' | 'schema'>): {
  readonly api: Api;
  readonly loop: Loop | undefined;
} {
  const text = (key: string) => own(task.attributes, key)?.trim() || undefined;
  const list = (key: string) =>
    text(key)
      ?.split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '');
  const api = text('openai.api');
  const tools = list('openai.tools');
  const mode = text('agent.mode') ?? (tools === undefined ? 'single' : 'agent');
  const maxTokens = text('max_tokens');
  const runTimeout = text('openai.run_timeout');
  const isOpen = (key: string) => /^(?:1|t|true|yes)$/i.test(text(key) ?? '');
  const only = list('read_scope');
  const writable = list('allowed_write_paths');
  const loop = {
    tools: tools ?? toolNames,
    finish: task.schema === undefined && text('response_file') === undefined,
    maxTurns: Number(text('max_turns') ?? usualTurns),
    maxTokens: maxTokens === undefined ? undefined : Number(maxTokens),
    uncounted: text('unknown_cost') === 'allow',
    runMs: (runTimeout === undefined ? undefined : milliseconds(runTimeout)) ?? usualRunMs,
    scope: {
      hidden: [
        ...(isOpen('openai.allow_read_scenarios') || isOpen('codex.allow_read_scenarios') ? [] : [scenarios]),
        ...(list('codex.block_read_paths') ?? []),
      ],
      ...(only === undefined ? {} : { only }),
      ...(writable === undefined ? {} : { writable }),
    },
  };
  return {
    api: api === 'responses' || api === 'chat' ? api : 'auto',
    loop: mode === 'agent' ? loop : undefined,
  };
}

/** A bare number means seconds. */
const milliseconds = (text: string): number | undefined =>
  /^\d+$/.test(text) ? Number(text) * 1000 : durationMs(text);
