/** Which servers of models the nodes of a run ask, and what is wrong with that before it starts. */

import { accessProblem, modelMissing, showURL } from '../agents/openai/settings.ts';
import type { AgentPlan } from '../agents/plan.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Diagnostic, Place } from '../core/diagnostic.ts';
import { type Graph, graphWith, type Node } from '../core/graph.ts';
import { isObject, own } from '../core/json.ts';
import { accessTo, type ModelServer, serverOf } from '../core/model-server.ts';
import { nearest } from '../core/nearest.ts';
import { agentKeyOf, agentNodes } from '../core/pipeline.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { present } from '../core/settings/types.ts';
import { spanOfStyle } from '../dot/literals.ts';
import { proxyProblemOf } from '../platform/outgoing.ts';
import { modelServersFor } from './model-servers.ts';
import { type AgentAssignment, modelsOfNode } from './resolve-agents.ts';

type AskedServers = {
  readonly servers: readonly ModelServer[];
  readonly problems: readonly Diagnostic[];
};

/** The servers that the nodes ask by these plans, each once, and the first problem of each node. */
export function serversAsked(
  graph: Graph,
  { plans }: Pick<AgentAssignment, 'plans'>,
  env: Environment,
): AskedServers {
  const servers = new Map<string, ModelServer>();
  const problems: Diagnostic[] = [];
  for (const node of agentNodes(graph)) {
    const plan = plans.get(agentKeyOf(node));
    for (const { server, problem } of plan === undefined ? [] : serversOfNode(plan, node, env)) {
      servers.set(server.provider, server);
      if (problem !== undefined) problems.push({ ...problem, place: placeOfModel(graph, node) });
    }
  }
  return { servers: [...servers.values()], problems };
}

/** The servers that a node asks by its plan, with what is wrong with each. */
export const serversOfNode = (plan: AgentPlan, node: Node, env: Environment): readonly Asked[] =>
  (plan.agents ?? [plan]).flatMap((one) => askedBy(one, node, env));

type Asked = { readonly server: ModelServer; readonly problem: Diagnostic | undefined };

function askedBy({ server, routeOf, ...plan }: AgentPlan, node: Node, env: Environment): readonly Asked[] {
  if (server === undefined || routeOf === undefined) return [];
  const { models } = modelsOfNode({ ...plan, server }, node.settings, env);
  if (models.length === 0) return [{ server, problem: problemOf('agent-model', modelMissing(server)) }];
  return models.map((name) => {
    const to = routeOf(node.settings, name);
    return { server: to.server, problem: routeProblem(to.server, to.model, env) };
  });
}

const problemOf = (code: string, message: string, fix?: string): Diagnostic => ({
  ...{ code, severity: 'error', message },
  ...(fix === undefined ? {} : { fix }),
});

function routeProblem(server: ModelServer, model: string, env: Environment): Diagnostic | undefined {
  const access = accessProblem(server, accessTo(server, env));
  if (access !== undefined)
    return problemOf('agent-key', `the provider "${server.provider}" of "${model}": ${access}`);
  const proxy = proxyProblemOf(server.baseURL, env);
  if (proxy !== undefined)
    return problemOf(
      'agent-proxy',
      `the provider "${server.provider}" of "${model}": ${proxy}`,
      'correct the variable, or unset it',
    );
  const { models } = server;
  if (models === undefined || models.includes(model)) return undefined;
  const near = nearest(model, models);
  return problemOf(
    'agent-model',
    `the provider "${server.provider}" has no model "${model}"; it has ${models.join(', ')}`,
    near === undefined
      ? 'choose one of those, or add it to "models" in factory.json'
      : `did you mean "${near}"?`,
  );
}

/** Where the node's model is named, else the node. */
function placeOfModel(run: Graph, node: Node): Place {
  const graph = graphWith(run, node.id);
  const named = present(node.attrs, 'llm_model')?.valueSpan;
  return { file: graph.file, span: named ?? spanOfStyle(graph, node, 'llm_model') ?? node.span };
}

type RecordedServers = NonNullable<Manifest['agent']['servers']>;

/** The servers in the manifest: without keys, which variables have, and without what an address may hide. */
export const serversToRecord = (servers: readonly ModelServer[]): RecordedServers =>
  Object.fromEntries(
    [...servers]
      .sort((a, b) => (a.provider < b.provider ? -1 : 1))
      .map(({ provider, baseURL, api, keyVariable, headers, models, prices }) => [
        provider,
        {
          ...{ base_url: showURL(baseURL), api },
          ...(keyVariable === undefined ? {} : { key: keyVariable }),
          ...(Object.keys(headers).length === 0 ? {} : { headers: { ...headers } }),
          ...(models === undefined ? {} : { models: [...models] }),
          ...(prices === undefined ? {} : { prices: { ...prices } }),
        },
      ]),
  );

/** The servers that a run has asked and that the files describe otherwise now, in words. The address of the provider `openai` is
 *  that of OPENAI_BASE_URL, which each process has for itself. */
export function changedServers(
  { agent, original_workdir }: Pick<Manifest, 'agent' | 'original_workdir'>,
  cwd: string,
  env: Environment,
): readonly string[] {
  const recorded = Object.entries(agent.servers ?? {});
  if (recorded.length === 0) return [];
  const given = modelServersFor(original_workdir || cwd, env);
  if ('problems' in given) return given.problems.map(({ message }) => `factory.json ${message}`);
  return recorded.flatMap(([provider, was]) => {
    const server = serverOf(given.servers, provider, env);
    const now = server === undefined ? undefined : serversToRecord([server])[provider];
    const parts = now === undefined ? [] : otherParts(was, now, provider);
    if (now !== undefined && parts.length === 0) return [];
    const at =
      now === undefined ? 'it is unknown now' : `it is ${now.base_url} now, with another ${parts.join(', ')}`;
    return [`the server of the provider "${provider}" differs from the run's, ${was.base_url}: ${at}`];
  });
}

function otherParts(
  was: RecordedServers[string],
  now: RecordedServers[string],
  provider: string,
): readonly string[] {
  const [before, after] = [new Map(Object.entries(was)), new Map(Object.entries(now))];
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (part) =>
      !(provider === 'openai' && part === 'base_url') && textOf(before.get(part)) !== textOf(after.get(part)),
  );
}

/** Providers that both runs ask, at servers that are described otherwise: `openai` at another address too. */
export const otherServers = (
  before: Pick<Manifest, 'agent'>,
  now: Pick<Manifest, 'agent'>,
): readonly string[] =>
  Object.entries(before.agent.servers ?? {}).flatMap(([provider, was]) => {
    const is = own(now.agent.servers ?? {}, provider);
    return is === undefined || textOf(is) === textOf(was) ? [] : [provider];
  });

/** The same for the same parts in any order. */
const textOf = (value: unknown): string =>
  JSON.stringify(isObject(value) ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)) : value) ?? '';
