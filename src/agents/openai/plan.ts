/** Plans the agent openai: its model, its server and its patience, from flags and environment. */
import type { Environment } from '../../core/contracts/process.ts';
import { accessTo, openaiServer } from '../../core/model-server.ts';
import { nearest } from '../../core/nearest.ts';
import { efforts } from '../../core/settings/node.ts';
import { durationMs } from '../../core/settings/types.ts';
import { type AgentKind, type AgentProblem, agentProblem, modelFlags, wordOf } from '../plan.ts';
import { accessProblem, openaiDefaults, serverWords } from './settings.ts';

export const planOpenai: AgentKind['plan'] = (request, chosenBy) => {
  const { env, temperature } = request;
  const server = openaiServer(env);
  const key = accessProblem(server, accessTo(server, env));
  if (key !== undefined)
    return agentProblem(
      'agent-key',
      `${chosenBy} asks for the agent "openai": ${key}`,
      'set OPENAI_API_KEY to a key of the model API, or choose another agent',
    );
  const url = urlProblem(server.baseURL);
  if (url !== undefined)
    return agentProblem(
      'agent-base-url',
      `OPENAI_BASE_URL ${url}`,
      'write it like https://api.openai.com/v1',
    );
  const flags = modelFlags(request);
  const model =
    flags.model ?? wordOf(env['FACTORY_MODEL']) ?? wordOf(env['OPENAI_MODEL']) ?? openaiDefaults.model;
  const effort = flags.effort ?? wordOf(env['FACTORY_EFFORT']);
  const unknown = effortProblem(effort, flags.effort === undefined ? 'FACTORY_EFFORT' : '--effort');
  if (unknown !== undefined) return unknown;
  const waits = pollWaits(env);
  if ('problem' in waits) return waits;
  const settings = {
    ...{ model, server, ...waits },
    ...(effort === undefined ? {} : { effort }),
    ...(temperature === undefined ? {} : { temperature }),
  };
  return {
    ...settings,
    describe: serverWords(server, model, effort),
    create: async (deps) => {
      const { openaiAgent } = await import('../openai.ts');
      return openaiAgent({ ...settings, access: accessTo(server, deps.env), clock: deps.clock });
    },
  };
};

/** How patiently answers in the background are looked for, where the environment says. */
function pollWaits(
  env: Environment,
): { readonly pollMs?: number; readonly pollDeadlineMs?: number } | AgentProblem {
  const names = { pollMs: 'FACTORY_POLL_INTERVAL', pollDeadlineMs: 'FACTORY_POLL_DEADLINE' } as const;
  const waits: { pollMs?: number; pollDeadlineMs?: number } = {};
  for (const key of ['pollMs', 'pollDeadlineMs'] as const) {
    const text = wordOf(env[names[key]]);
    if (text === undefined) continue;
    const ms = durationMs(text);
    if (ms === undefined || ms === 0) {
      return agentProblem(
        'agent-wait',
        `${names[key]} is "${text}", which is no length of time`,
        'write it like 5s or 40m',
      );
    }
    waits[key] = ms;
  }
  return waits;
}

/** The problem of an unknown effort that `by` asks for; undefined for a known one, and for none. */
export function effortProblem(word: string | undefined, by: string): AgentProblem | undefined {
  if (word === undefined || efforts.some((known) => known === word)) return undefined;
  const near = nearest(word, efforts);
  return agentProblem(
    'agent-effort',
    `${by} asks for the effort "${word}", which is unknown; there are ${efforts.join(', ')}`,
    near === undefined ? 'choose one of those' : `did you mean "${near}"?`,
  );
}

/** What is wrong with a base URL; its text is not repeated, it may hold a password. */
function urlProblem(baseURL: string): string | undefined {
  let url: URL;
  try {
    url = new URL(baseURL);
  } catch {
    return 'is not a URL';
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'is neither http nor https';
  if (url.username !== '' || url.password !== '')
    return 'carries a user name or password, which requests cannot';
  return undefined;
}
