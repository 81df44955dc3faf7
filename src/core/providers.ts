/** The providers of models, and the agents that ask them: a model's name never goes to another provider. Pure. */
import { type AgentName, agentNames } from './contracts/agent.ts';
import type { NodeSettings } from './settings/node.ts';

/** The agents that work with a provider's models, in the order in which they are tried. */
const agentsOf: Readonly<Record<string, readonly AgentName[]>> = {
  openai: ['openai', 'codex'],
  anthropic: ['claude'],
};
export const servedProviders: readonly string[] = Object.keys(agentsOf);

/** A provider as authors write it: `OpenAI`. */
const providerWord = (text: string | undefined): string => text?.trim().toLowerCase() ?? '';

/** The provider that a node names; empty for none. */
export const providerOf = ({ llm_provider }: Pick<NodeSettings, 'llm_provider'>): string =>
  providerWord(llm_provider);

export const agentsForProvider = (provider: string): readonly AgentName[] =>
  Object.hasOwn(agentsOf, provider) ? (agentsOf[provider] ?? []) : [];

/** Whether an agent is tied to one provider; a program of the user's, and prepared answers, take any name. */
const isTied = (agent: string): boolean =>
  agentNames.some((name) => name === agent) &&
  Object.values(agentsOf).some((names) => names.some((name) => name === agent));

/** The provider whose models have such names, where there is only one. */
export function providerOfModel(model: string): string | undefined {
  if (/^(?:claude-|claude$|sonnet\b|opus\b|haiku\b)/i.test(model)) return 'anthropic';
  if (/^(?:gpt-\d|chatgpt-|codex-|o[1-9](?:-|$))/i.test(model)) return 'openai';
  if (/^gemini-/i.test(model)) return 'google';
  return undefined;
}

/** The provider because of which an agent is not asked for the node's model; undefined where it is asked. `ownServer`: the
 *  user has given the agent another server, with other names; `fromSheet`: the stylesheet names the model; `apart`: model and
 *  provider are not both the node's own words, so that one may be meant for other models. */
export function foreignProvider(
  agent: string,
  { llm_provider }: Partial<NodeSettings>,
  model: string,
  {
    ownServer,
    fromSheet,
    apart,
  }: { readonly ownServer: boolean; readonly fromSheet: boolean; readonly apart: boolean },
): string | undefined {
  if (!isTied(agent)) return undefined;
  const stated = providerWord(llm_provider);
  const named = providerOfModel(model);
  const provider = stated === '' || (apart && named !== undefined) ? named : stated;
  if (provider === undefined || agentsForProvider(provider).some((name) => name === agent)) return undefined;
  // A name alone may mean a model of that server; a sheet names models for all agents that there may be.
  return ownServer && stated === '' && !fromSheet ? undefined : provider;
}
