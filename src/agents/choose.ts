/** Which agent answers, and why that one. */
import { type AgentName, agentNames } from '../core/contracts/agent.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import { own } from '../core/json.ts';
import { builtInServers, hasOtherServer, modelOfProvider } from '../core/model-server.ts';
import { nearest } from '../core/nearest.ts';
import { agentsForProvider, onlyProviderOf } from '../core/providers.ts';
import { fallbackAgent, unusableAgent } from './fallback.ts';
import { agentKinds } from './index.ts';
import { canAsk, effortProblem, unknownProvider } from './openai/plan.ts';
import {
  type AgentPlan,
  type AgentProblem,
  type AgentRequest,
  agentProblem,
  modelFlags,
  wordOf,
} from './plan.ts';
import { providerAgainst, servingAgent } from './serving.ts';

/** Decides who answers: the override for tests, then the node, the flags, the environment, a key, the bundled script.
 *  Nothing of these is a problem, and so is an agent that cannot work here. Pure. */
export function chooseAgent(request: AgentRequest): { readonly plan: AgentPlan } | AgentProblem {
  if (request.model?.includes(',') === true) {
    return agentProblem(
      'agent-model',
      `--model says "${request.model}": it names one model, for every node`,
      'several models in turn are a node\'s: llm_model="small,large"',
    );
  }
  const effort = wordOf(request.effort);
  // Checked even where the agent ignores it: the user typed it.
  const unknown = effortProblem(effort, '--effort');
  if (unknown !== undefined) return unknown;
  return chosenFor(withProvider(request));
}

function chosenFor(request: AgentRequest): { readonly plan: AgentPlan } | AgentProblem {
  const { asks, env, servers = builtInServers } = request;
  if (asks?.ofNode === false && !servers.has(asks.name)) return unknownProvider(servers, asks.name, asks.by);
  const asked = askedFor(request);
  const unfit = asked === undefined ? undefined : unfitAgent(asked, request);
  if (unfit !== undefined) return unfit;
  if (asked !== undefined) return planFor(asked.word, asked.by, withoutRunsModel(asked, request));
  if (request.script !== undefined && (wordOf(env['OPENAI_API_KEY']) === undefined || isOnlyItsOwn(asks)))
    return planFor('scripted', 'the script that the pipeline bundles', request);
  if (wordOf(env['OPENAI_API_KEY']) !== undefined) return planFor('openai', 'OPENAI_API_KEY', request);
  // It says what the provider lacks.
  if (asks !== undefined && isOnlyItsOwn(asks)) return planFor('openai', asks.by, request);
  const ofProvider = asks === undefined ? '' : `, and no agent for ${asks.by} can work here`;
  return agentProblem(
    'agent-none',
    `no agent is chosen: there is no key, no --agent and no script that the pipeline bundles${ofProvider}`,
    'Set OPENAI_API_KEY to have a model answer. Pass --agent NAME (or set FACTORY_AGENT) to choose one of ' +
      `${agentNames.join(', ')}. Give the pipeline an agent script to replay prepared answers. ` +
      'Set agent.backend on a node to choose for that node alone.',
  );
}

/** Whether only the agent `openai` asks the models of a provider, at its server: with another key it does not ask them. */
const isOnlyItsOwn = (asks: AgentRequest['asks']): boolean =>
  asks !== undefined && asks.name !== 'openai' && (asks.name !== 'anthropic' || !asks.ofNode);

/** A typed agent that has no models of the typed provider. */
function unfitAgent(
  { word, by }: { word: string; by: string },
  { asks }: AgentRequest,
): AgentProblem | undefined {
  const isTyped = by === '--agent' && asks?.by === '--provider';
  const only = onlyProviderOf[word];
  if (!isTyped || only === undefined || only === asks.name) return undefined;
  return agentProblem(
    'agent-provider',
    `the agent ${word} (--agent) has no models of the provider "${asks.name}" (--provider)`,
    'leave out --agent: the agent openai asks the server of any provider',
  );
}

/** The request with the provider that it asks, and the model of the run without that provider in front of it. */
function withProvider(request: AgentRequest): AgentRequest {
  const { env, provider = '', prefix = '', runProvider, servers = builtInServers } = request;
  const named = (name: string, by: string, ofNode: boolean) => ({
    ...request,
    asks: { name, by, whole: true, ofNode },
  });
  if (provider !== '') return named(provider, `llm_provider=${provider}`, true);
  if (runProvider !== undefined) return named(runProvider.name, runProvider.by, false);
  if (hasOtherServer(env)) return request;
  const ofRun = (['model', 'FACTORY_MODEL'] as const).map((by) => ({
    by: by === 'model' ? '--model' : by,
    of: modelOfProvider(servers, wordOf(by === 'model' ? request.model : env[by]) ?? ''),
  }));
  const first = request.model === undefined ? ofRun[1] : ofRun[0];
  const asks =
    prefix !== '' && servers.has(prefix)
      ? { name: prefix, by: `llm_provider=${prefix}`, whole: false, ofNode: true }
      : first?.of === undefined
        ? undefined
        : { name: first.of.provider, by: first.by, whole: false, ofNode: false };
  // The model of the run is another provider's where a node names its own.
  const own = (text: string | undefined, of: ReturnType<typeof modelOfProvider>) =>
    of === undefined ? text : of.provider === asks?.name ? of.model : undefined;
  return {
    ...request,
    asks,
    model: own(request.model, ofRun[0]?.of),
    env: { ...env, FACTORY_MODEL: own(env['FACTORY_MODEL'], ofRun[1]?.of) },
  };
}

/** For an agent that a provider has chosen: the request without the model of the agent of the run that continues. */
const withoutRunsModel = ({ by }: { readonly by: string }, request: AgentRequest): AgentRequest =>
  by === request.asks?.by && request.asks.ofNode && request.flagBy !== undefined
    ? { ...request, model: request.typedModel }
    : request;

/** The request without models of other providers than the agent's: flags and environment name one for the agent of the run, which may
 *  be another. */
function withoutForeignModels(name: AgentName, request: AgentRequest): AgentRequest {
  const { env, model } = request;
  const isForeign = (one: string | undefined): boolean =>
    wordOf(one) !== undefined &&
    providerAgainst(name, env, {}, one?.trim() ?? '', serverAsked(name, request)) !== undefined;
  return {
    ...request,
    env: isForeign(env['FACTORY_MODEL']) ? { ...env, FACTORY_MODEL: undefined } : env,
    model: isForeign(model) ? undefined : model,
  };
}

/** Whether the words choose one agent for the whole run: its model is the user's word. */
const isOfRun = (words: string, chosenBy: string): boolean =>
  !words.includes(',') && chosenBy !== "the node's agent.backend" && !chosenBy.startsWith('llm_provider=');

/** The word that chooses the agent, strongest source first. */
function askedFor({
  env,
  nodeBackend,
  flag,
  flagBy,
  scriptNamed,
  ...of
}: AgentRequest): { word: string; by: string } | undefined {
  const override = (['ATTRACTION_BACKEND', 'ATTRACTOR_BACKEND'] as const).find(
    (name) => wordOf(env[name]) !== undefined,
  );
  if (override !== undefined && env[override] === 'fake') return { word: 'fake', by: override };
  const ofProvider = (counts: boolean): readonly [string, string | undefined] => [
    of.asks?.by ?? '',
    counts ? agentOfProvider({ ...of, env, flagBy }) : undefined,
  ];
  const choices: readonly (readonly [string, string | undefined])[] = [
    ["the node's agent.backend", wordOf(nodeBackend)],
    ['--agent', flagBy === undefined ? wordOf(flag) : undefined],
    // A script is given to be used, whatever keys there are.
    ['--script', scriptNamed === true ? 'scripted' : undefined],
    ofProvider(of.asks?.ofNode === true),
    ofProvider(of.asks?.by === '--provider'),
    [flagBy ?? '', flagBy === undefined ? undefined : wordOf(flag)],
    ['FACTORY_AGENT', wordOf(env['FACTORY_AGENT'])],
    ['ATTRACTOR_AGENT_BACKEND', wordOf(env['ATTRACTOR_AGENT_BACKEND'])],
    ofProvider(true),
  ];
  for (const [by, word] of choices) if (word !== undefined) return { word, by };
  const last = override === undefined ? undefined : wordOf(env[override]);
  // Other words in it have never meant anything.
  if (override !== undefined && (last === 'stub' || last === 'codex')) return { word: last, by: override };
  return undefined;
}

/** The agent that can work here with the models of the provider. A run that continues keeps its agents. */
function agentOfProvider({
  env,
  asks,
  programs = [],
  recorded,
  flagBy,
  servers = builtInServers,
}: Pick<AgentRequest, 'env' | 'asks' | 'programs' | 'recorded' | 'flagBy' | 'servers'>): string | undefined {
  if (asks === undefined) return undefined;
  if (flagBy !== undefined) return asks.ofNode ? own(recorded ?? {}, asks.name) : undefined;
  // A provider named for the whole run means its server, not a program with its own login.
  const names = asks.ofNode ? agentsForProvider(asks.name, servers) : (['openai'] as const);
  return names.find((name) =>
    name === 'openai' ? canAsk(servers, asks.name, env) : programs.includes(name),
  );
}

/** The provider whose server the agent asks, where it can ask that of any. */
const serverAsked = (name: AgentName, { asks, env, servers = builtInServers }: AgentRequest) =>
  name === 'openai' && asks !== undefined && canAsk(servers, asks.name, env) ? asks.name : undefined;

/** The plan of a word, or of several with commas between: those are asked in order. One that is known and lacks
 *  something here is passed over while another is left. */
function planFor(
  words: string,
  chosenBy: string,
  request: AgentRequest,
): { readonly plan: AgentPlan } | AgentProblem {
  const list = words.split(',').map((word) => word.trim());
  if (list.length === 1) return planForOne(words, chosenBy, request, isOfRun(words, chosenBy));
  if (list.includes('') || new Set(list).size < list.length) {
    return agentProblem(
      'agent-list',
      `${chosenBy} asks for the agents "${words}", which has ${list.includes('') ? 'an empty entry' : 'one twice'}`,
      'write it like codex,claude',
    );
  }
  const agents: AgentPlan[] = [];
  let first: Diagnostic | undefined;
  for (const word of list) {
    const one = planForOne(word, chosenBy, request, false);
    if ('plan' in one) agents.push(one.plan);
    else if (['agent-key', 'agent-script-missing'].includes(one.problem.code)) {
      first ??= one.problem;
      agents.push(unusable(word, one.problem.message, chosenBy));
    } else return one;
  }
  if (first !== undefined && agents.every(({ name }) => name === 'unusable')) return { problem: first };
  return {
    plan: {
      ...{ name: list.join(','), chosenBy, agents, ...modelFlags(request) },
      describe: agents.map(({ describe }) => describe).join(', else '),
      create: async (deps) => fallbackAgent(await Promise.all(agents.map((one) => one.create(deps)))),
    },
  };
}

/** One of several that cannot answer here, and why. */
const unusable = (word: string, why: string, chosenBy: string): AgentPlan => ({
  ...{ name: 'unusable', chosenBy, describe: `${word} (cannot answer here)` },
  create: () => unusableAgent(word, why),
});

function planForOne(
  word: string,
  chosenBy: string,
  request: AgentRequest,
  ofRun: boolean,
): { readonly plan: AgentPlan } | AgentProblem {
  const name = agentNames.find((known) => known === word);
  if (name === undefined) return unknownAgent(word, chosenBy);
  const own = ofRun ? request : withoutForeignModels(name, request);
  const planned = agentKinds[name].plan(own, chosenBy);
  if ('problem' in planned) return planned;
  const withheld = [request.model, request.env['FACTORY_MODEL']].filter(
    (model) => wordOf(model) !== undefined && model !== own.model && model !== own.env['FACTORY_MODEL'],
  );
  const create: AgentPlan['create'] = async (deps) => {
    const env = own.env === request.env ? deps.env : { ...deps.env, FACTORY_MODEL: undefined };
    const asks = planned.server?.provider;
    const agent = await planned.create({ ...deps, env });
    return servingAgent(agent, { name, env: deps.env, asks, withheld: withheld[0] });
  };
  return { plan: { name, chosenBy, ...planned, create } };
}

function unknownAgent(word: string, chosenBy: string): AgentProblem {
  const there = `there are ${agentNames.join(', ')}`;
  const near = nearest(word, agentNames);
  return agentProblem(
    'agent-unknown',
    `unknown agent backend: ${word} (${chosenBy}); ${there}`,
    near === undefined ? 'choose one of those' : `did you mean "${near}"?`,
  );
}
