/** What a node says about how the model works: one answer, or a loop with tools; and within which limits. Pure. */
import { durationMs } from '../../model/attribute.ts';
import { nearest } from '../../model/nearest.ts';
import { own } from '../../model/own.ts';
import { type ToolScope, toolPath } from '../../policy/tool-paths.ts';
import { type AgentTask, toolNames as known } from '../agent.ts';

export type Api = 'auto' | 'responses' | 'chat';

export type Loop = {
  readonly tools: readonly string[];
  /** False where the last text is the answer: the node keeps it in a file, or wants a shape of its own. */
  readonly finish: boolean;
  readonly maxTurns: number;
  /** In and out, summed over all turns. */
  readonly maxTokens: number | undefined;
  /** Whether a server that does not count its tokens may go on under `maxTokens`. */
  readonly uncounted: boolean;
  /** Turns of the same calls after which it goes in circles, where somebody says; 0: never. */
  readonly sameCalls?: number;
  /** Milliseconds that one program may take. */
  readonly runMs: number;
  readonly scope: ToolScope;
};

export type Mode = { readonly api: Api; readonly loop: Loop | undefined };

const defaults = { maxTurns: 50, runMs: 600_000 } as const;

/** What no agent reads unless the node says so. */
const scenarios = 'scripts/scenarios/';

type Task = Pick<AgentTask, 'attributes' | 'schema'>;

export function readMode(task: Task): { readonly mode: Mode } | { readonly problem: string } {
  const said = (key: string): string | undefined => own(task.attributes, key)?.trim() || undefined;
  const listed = (key: string): readonly string[] | undefined =>
    said(key)
      ?.split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '');
  const api = said('openai.api') ?? 'auto';
  if (api !== 'auto' && api !== 'responses' && api !== 'chat')
    return { problem: `openai.api is "${api}": write auto, responses or chat` };
  const word = said('agent.mode');
  if (word !== undefined && word !== 'agent' && word !== 'single')
    return { problem: `agent.mode is "${word}": write agent or single` };
  const wanted = listed('openai.tools');
  if (word === 'single' || (word === undefined && wanted === undefined))
    return { mode: { api, loop: undefined } };

  const strange = wanted?.find((name) => !known.some((one) => one === name));
  if (strange !== undefined) {
    const near = nearest(strange, known);
    const hint = near === undefined ? `there are ${known.join(', ')}` : `did you mean "${near}"?`;
    return { problem: `openai.tools names "${strange}", which is no tool: ${hint}` };
  }
  const maxTurns = wholeNumber(said('max_turns'));
  const maxTokens = wholeNumber(said('max_tokens'));
  if (maxTurns === 'bad')
    return { problem: `max_turns is "${said('max_turns')}": write a whole number of at least 1` };
  if (maxTokens === 'bad')
    return { problem: `max_tokens is "${said('max_tokens')}": write a whole number of at least 1` };
  const limit = said('openai.run_timeout');
  const runMs = limit === undefined ? defaults.runMs : lengthOf(limit);
  if (runMs === undefined || runMs === 0)
    return { problem: `openai.run_timeout is "${limit}", which is no length of time: write 90s or 10m` };
  const blocked = listed('codex.block_read_paths') ?? [];
  const only = listed('read_scope');
  for (const [key, paths] of [
    ['codex.block_read_paths', blocked],
    ['read_scope', only ?? []],
  ] as const) {
    for (const one of paths) {
      const path = toolPath(one);
      if ('problem' in path) return { problem: `${key}: ${path.problem}` };
      if (path.path === '' && key === 'codex.block_read_paths')
        return { problem: `${key}: "${one}" is the whole workspace` };
    }
  }
  const sameCalls = said('max_same_calls');
  const writable = listed('allowed_write_paths');
  return {
    mode: {
      api,
      loop: {
        tools: wanted ?? known,
        finish: task.schema === undefined && said('response_file') === undefined,
        maxTurns: maxTurns ?? defaults.maxTurns,
        maxTokens,
        uncounted: said('unknown_cost') === 'allow',
        runMs,
        ...(sameCalls === undefined || !/^\+?\d+$/.test(sameCalls) ? {} : { sameCalls: Number(sameCalls) }),
        scope: {
          hidden: [...(mayReadScenarios(said) ? [] : [scenarios]), ...blocked],
          ...(only === undefined ? {} : { only }),
          ...(writable === undefined ? {} : { writable }),
        },
      },
    },
  };
}

const mayReadScenarios = (said: (key: string) => string | undefined): boolean =>
  ['openai', 'codex'].some((agent) => isTrue(said(`${agent}.allow_read_scenarios`)));

function wholeNumber(text: string | undefined): number | undefined | 'bad' {
  if (text === undefined) return undefined;
  const number = /^\+?\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) && number > 0 ? number : 'bad';
}

/** Milliseconds; a bare number means seconds. */
const lengthOf = (text: string): number | undefined =>
  /^\d+$/.test(text) ? Number(text) * 1000 : durationMs(text);

const isTrue = (text: string | undefined): boolean => /^(?:1|t|true|yes)$/i.test(text ?? '');
