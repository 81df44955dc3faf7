/** What a node's attributes say about how the model works: one answer, or a loop with tools, and within which limits.
 *  Their values have been checked with the pipeline. Pure. */
import { type AgentTask, toolNames } from '../../core/contracts/agent.ts';
import {
  type ModelServer,
  type ServerAccess,
  type ServerApi,
  variablesToAsk,
} from '../../core/model-server.ts';
import type { ToolScope } from '../../core/policy/tool-paths.ts';
import { isReadOnly, type NodeSettings } from '../../core/settings/node.ts';
import {
  type AttributeTable,
  attr,
  count,
  duration,
  type Settings,
  word,
  words,
} from '../../core/settings/types.ts';
import type { codexAttributes } from '../codex-settings.ts';

export const openaiAttributes = {
  'agent.mode': attr(
    word('single', 'agent'),
    '`agent`: the model works with tools; `single`: one call, one answer.',
    {
      unset: 'agent with openai.tools, else single',
    },
  ),
  'openai.tools': attr(words(...toolNames), 'The tools of the model.', { unset: 'all of them' }),
  'openai.api': attr(word('auto', 'responses', 'chat', 'anthropic'), 'Which API of the server is used.', {
    default: 'auto',
  }),
  'openai.run_timeout': attr(duration(), 'How long one call of the tool `run` may take.', { default: '10m' }),
  max_turns: attr(count(1), 'How often the model may answer in one session with tools.', { default: '50' }),
} as const satisfies AttributeTable;

type OpenAiAttributes = NodeSettings &
  Settings<typeof openaiAttributes> &
  Pick<Settings<typeof codexAttributes>, 'codex.block_read_paths'>;

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

/** Hidden from every agent unless the node allows it. */
const scenarios = 'scripts/scenarios/';

/** `api` is `auto` where the node leaves it to the server; `loop` is undefined where the model gets no tools. */
export function readOpenaiSettings(task: Pick<AgentTask, 'settings' | 'schema' | 'uncounted'>): {
  readonly api: ServerApi;
  readonly loop: Loop | undefined;
} {
  const values: Partial<OpenAiAttributes> = task.settings;
  const { read_scope: only, allowed_write_paths: writable } = values;
  const isOpen =
    values['openai.allow_read_scenarios'] === true || values['codex.allow_read_scenarios'] === true;
  const tools = values['openai.tools'];
  const loop = {
    tools: tools ?? toolNames,
    finish: task.schema === undefined && values.response_file === undefined,
    maxTurns: values.max_turns ?? openaiAttributes.max_turns.otherwise,
    maxTokens: values.max_tokens,
    uncounted: task.uncounted === true,
    runMs: values['openai.run_timeout'] ?? openaiAttributes['openai.run_timeout'].otherwise,
    scope: {
      hidden: [...(isOpen ? [] : [scenarios]), ...(values['codex.block_read_paths'] ?? [])],
      ...(only === undefined ? {} : { only }),
      ...(writable === undefined ? {} : { writable }),
    },
  };
  const mode = isReadOnly(values)
    ? 'single'
    : (values['agent.mode'] ?? (tools === undefined ? 'single' : 'agent'));
  return { api: values['openai.api'] ?? 'auto', loop: mode === 'agent' ? loop : undefined };
}

/** Whether a recorded agent of this name, or of each name of a list, answers nodes with these settings from the prompt alone. */
export const needsPromptAlone = (names: string, settings: Partial<NodeSettings>): boolean =>
  names.split(',').every((name) => name.trim() === 'openai') &&
  readOpenaiSettings({ settings }).loop === undefined;

/* Default settings, and what a server, its key and its address look like: all that choosing this agent needs of it. */

/** The largest token budget of an answer: models whose limit is 65,536 would refuse a full doubling. */
export const mostOutputTokens = 65_000;

/** Of the provider `openai`, where nothing names a model. */
export const openaiDefaultModel = 'gpt-5.2';

export const openaiDefaults = {
  maxOutputTokens: 64_000,
  mostOutputTokens,
  maxRetries: 2,
  maxWaitMs: 60_000,
  idleMs: 2_400_000,
  pollMs: 5_000,
  pollDeadlineMs: 2_400_000,
  maxAnswerBytes: 10 * 1024 * 1024,
  firstRetryMs: 500,
} as const;

/** Why a server cannot be asked with these secrets, or undefined; says nothing of their values. */
export function accessProblem(server: ModelServer, access: ServerAccess): string | undefined {
  const { keyVariable } = server;
  const key = access.apiKey.trim();
  if (keyVariable !== undefined && key === '') return `there is no key: set ${keyVariable}`;
  if (!/^[\x21-\x7e]*$/.test(key))
    return `${keyVariable} has characters that no key has: blanks, line ends or letters beyond ASCII`;
  const odd = Object.entries(access.headers).find(([, value]) => !/^[\x20-\x7e]+$/.test(value));
  if (odd === undefined) return undefined;
  const names = variablesToAsk({ keyVariable: undefined, headers: { value: server.headers[odd[0]] ?? '' } });
  return `the header ${odd[0]} has no value that can be sent: set ${names.join(' and ')}`;
}

/** Of a provider without a model to ask where none is named. */
export const modelMissing = ({ provider }: ModelServer): string =>
  `no model of the provider "${provider}" is named: set llm_model, --model or FACTORY_MODEL`;

/** A server with the model that it is asked for, in words. */
export function serverWords(
  { provider, baseURL }: ModelServer,
  model: string | undefined,
  effort: string | undefined,
): string {
  const asked = ['openai', ...(model === undefined ? [] : [model])].join(' ');
  const of = provider === 'openai' ? '' : ` (${provider})`;
  return `${asked} at ${showURL(baseURL)}${of}${effort === undefined ? '' : `, effort ${effort}`}`;
}

/** Where the address of a server is set. */
export const baseUrlWords = ({ provider }: ModelServer): string =>
  provider === 'openai' ? 'OPENAI_BASE_URL' : `base_url of the provider "${provider}"`;

/** A base URL for messages: without user, password and query. */
export function showURL(baseURL: string): string {
  try {
    const url = new URL(baseURL);
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  } catch {
    return baseURL;
  }
}

/** Values in the query of a base URL that may be secrets, which servers may repeat; not an API version, nor a value that
 *  is too short. */
export function hiddenIn(baseURL: string): readonly string[] {
  if (!URL.canParse(baseURL)) return [];
  return [...new URL(baseURL).searchParams]
    .filter(([name, value]) => value.length >= 8 && !/^(?:api[-_]?)?version$/i.test(name))
    .map(([, value]) => value);
}
