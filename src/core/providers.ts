/** The providers of models, and the agents that ask them: a model's name never goes to another provider. Pure. */
import { type AgentName, agentNames } from './contracts/agent.ts';
import { builtInServers, type ModelServers } from './model-server.ts';
import type { NodeSettings } from './settings/node.ts';

/** The agents that work with a provider's models, in the order in which they are tried; those of any other provider are asked
 *  by `openai`, where it has a server. */
const agentsOf: Readonly<Record<string, readonly AgentName[]>> = {
  openai: ['openai', 'codex'],
  anthropic: ['claude', 'openai'],
};
/** The provider of agents that ask no other one. */
export const onlyProviderOf: Partial<Readonly<Record<string, string>>> = {
  codex: 'openai',
  claude: 'anthropic',
};

export const servedProviders: readonly string[] = [...builtInServers.keys()];

/** A provider as authors write it: `OpenAI`. */
export const providerWord = (text: string | undefined): string => {
  const word = text?.trim().toLowerCase() ?? '';
  return word === 'google' ? 'gemini' : word;
};

/** The provider that a node names; empty for none. */
export const providerOf = ({ llm_provider }: Partial<NodeSettings>): string => providerWord(llm_provider);

/** What a node's first model begins with, where the node names no provider: `mistral` of `mistral/large`. Only a known provider
 *  counts, and which are known depends on the user's files. */
export const prefixOf = ({ llm_provider, llm_model }: Partial<NodeSettings>): string => {
  const [model = ''] = llm_model ?? [];
  return providerWord(llm_provider) === '' ? providerWord(/^([\w.-]+)\/./.exec(model)?.[1]) : '';
};

export const agentsForProvider = (
  provider: string,
  servers: ModelServers = builtInServers,
): readonly AgentName[] =>
  Object.hasOwn(agentsOf, provider) ? (agentsOf[provider] ?? []) : servers.has(provider) ? ['openai'] : [];

/** Providers whose models have names of one kind; servers of any other have models of everyone. */
const withOwnNames: readonly string[] = ['openai', 'anthropic', 'gemini', 'mistral'];

/** Whether an agent is tied to one provider; a program of the user's, and prepared answers, take any name. */
const isTied = (agent: string): boolean =>
  agentNames.some((name) => name === agent) &&
  Object.values(agentsOf).some((names) => names.some((name) => name === agent));

/** The provider whose models have such names, where there is only one. */
export function providerOfModel(model: string): string | undefined {
  if (/^(?:claude-|claude$|sonnet\b|opus\b|haiku\b)/i.test(model)) return 'anthropic';
  if (/^(?:gpt-\d|chatgpt-|codex-|o[1-9](?:-|$))/i.test(model)) return 'openai';
  if (/^gemini-/i.test(model)) return 'gemini';
  return undefined;
}

/** The provider because of which an agent is not asked for the node's model; undefined where it is asked. `ownServer`: the
 *  user has given the agent another server, with other names; `fromSheet`: the stylesheet names the model; `apart`: model and
 *  provider are not both the node's own words, so that one may be meant for other models; `asks`: the provider whose server
 *  the agent `openai` asks. */
export function foreignProvider(
  agent: string,
  { llm_provider }: Partial<NodeSettings>,
  model: string,
  {
    ownServer,
    fromSheet,
    apart,
    asks = onlyProviderOf[agent] ?? 'openai',
  }: {
    readonly ownServer: boolean;
    readonly fromSheet: boolean;
    readonly apart: boolean;
    readonly asks?: string | undefined;
  },
): string | undefined {
  if (!isTied(agent) || !withOwnNames.includes(asks)) return undefined;
  const stated = providerWord(llm_provider);
  const named = providerOfModel(model);
  const provider = stated === '' || (apart && named !== undefined) ? named : stated;
  if (provider === undefined || provider === asks) return undefined;
  // A name alone may mean a model of that server; a sheet names models for all agents that there may be.
  return ownServer && stated === '' && !fromSheet ? undefined : provider;
}
