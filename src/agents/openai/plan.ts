/** Plans the agent openai: its model, its server and its patience, from flags and environment. */
import type { Environment } from '../../core/contracts/process.ts';
import {
  accessTo,
  addressProblem,
  builtInServers,
  type ModelServer,
  type ModelServers,
  serverOf,
  userFileName,
  variablesToAsk,
} from '../../core/model-server.ts';
import { nearest } from '../../core/nearest.ts';
import { efforts } from '../../core/settings/node.ts';
import { durationMs } from '../../core/settings/types.ts';
import {
  type AgentKind,
  type AgentProblem,
  type AgentRequest,
  agentProblem,
  modelFlags,
  wordOf,
} from '../plan.ts';
import { routedAgent, routesFor } from './routes.ts';
import { accessProblem, baseUrlWords, openaiDefaultModel, serverWords } from './settings.ts';

export const planOpenai: AgentKind['plan'] = (request, chosenBy) => {
  const { env, temperature } = request;
  const found = serverFor(request, chosenBy);
  if ('problem' in found) return found;
  const { server } = found;
  const flags = modelFlags(request);
  const model = flags.model ?? wordOf(env['FACTORY_MODEL']) ?? defaultModelOf(server, env);
  const effort = flags.effort ?? wordOf(env['FACTORY_EFFORT']);
  const unknown = effortProblem(effort, flags.effort === undefined ? 'FACTORY_EFFORT' : '--effort');
  if (unknown !== undefined) return unknown;
  const waits = pollWaits(env);
  if ('problem' in waits) return waits;
  const settings = {
    ...{ server, ...waits },
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...(temperature === undefined ? {} : { temperature }),
  };
  const routeOf = routesFor(request, server);
  return {
    ...settings,
    routeOf,
    describe: serverWords(server, model, effort),
    create: async (deps) => {
      const { openaiAgent } = await import('../openai.ts');
      const make = (one: ModelServer, more: typeof settings) =>
        openaiAgent({ ...more, server: one, access: accessTo(one, deps.env), clock: deps.clock });
      return routedAgent(make(server, settings), server, routeOf, (one) => make(one, settings));
    },
  };
};

/** The model of a server where none is named. */
export const defaultModelOf = (server: ModelServer, env: Environment): string | undefined => {
  const ofOpenai = server.provider === 'openai' ? wordOf(env['OPENAI_MODEL']) : undefined;
  return ofOpenai ?? server.models?.[0] ?? (server.provider === 'openai' ? openaiDefaultModel : undefined);
};

/** The server that a request asks, or why it cannot be asked. */
function serverFor(
  { env, asks, servers = builtInServers }: AgentRequest,
  chosenBy: string,
): { readonly server: ModelServer } | AgentProblem {
  // A sheet for several providers works with one key: the models of this one are asked of the other agent.
  const isLeft = asks?.name === 'anthropic' && asks.ofNode && !canAsk(servers, asks.name, env);
  const provider = asks === undefined || isLeft ? 'openai' : asks.name;
  const server = serverOf(servers, provider, env);
  if (server === undefined) return unknownProvider(servers, provider, asks?.by ?? chosenBy);
  const wrongUrl = addressProblem(server.baseURL);
  if (wrongUrl !== undefined)
    return agentProblem(
      'agent-base-url',
      `${baseUrlWords(server)} ${wrongUrl}`,
      'write it like https://api.openai.com/v1',
    );
  const key = accessProblem(server, accessTo(server, env));
  if (key === undefined) return { server };
  const of = provider === 'openai' ? '' : ` for the provider "${provider}" (${asks?.by ?? chosenBy})`;
  return agentProblem(
    'agent-key',
    `${chosenBy} asks for the agent "openai"${of}: ${key}`,
    `set ${variablesToAsk(server).join(' and ')} to a key of the model API, or choose another agent`,
  );
}

/** Whether the agent `openai` has what it needs to ask a provider's models. */
export function canAsk(servers: ModelServers, provider: string, env: Environment): boolean {
  const server = serverOf(servers, provider, env);
  return (
    server !== undefined &&
    (server.keyVariable === undefined || wordOf(env[server.keyVariable]) !== undefined)
  );
}

/** The problem of a provider that has no server here. */
export function unknownProvider(servers: ModelServers, provider: string, by: string): AgentProblem {
  if (servers.has(provider))
    return agentProblem(
      'agent-provider',
      `the provider "${provider}" (${by}) has no address`,
      `write it into ${userFileName}: { "providers": { "${provider}": { "base_url": "https://…" } } }`,
    );
  const near = nearest(provider, [...servers.keys()]);
  return agentProblem(
    'agent-provider',
    `the provider "${provider}" (${by}) is unknown; there are ${[...servers.keys()].join(', ')}`,
    near === undefined ? `add it to "providers" in ${userFileName}` : `did you mean "${near}"?`,
  );
}

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
