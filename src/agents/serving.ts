/** Keeps the names of models from agents of other providers. */
import type { Agent, AgentName, AgentTask } from '../core/contracts/agent.ts';
import type { Environment } from '../core/contracts/process.ts';
import { hasOtherServer } from '../core/model-server.ts';
import { foreignProvider } from '../core/providers.ts';
import type { NodeSettings } from '../core/settings/node.ts';
import { sourceOf } from '../core/settings/typing.ts';
import { wordOf } from './plan.ts';

/** Variables that give an agent another server than its provider's. */
const serverVariables: Partial<Record<AgentName, readonly string[]>> = {
  codex: ['OPENAI_BASE_URL'],
  claude: ['ANTHROPIC_BASE_URL', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX'],
};
const providersOwn = /^https:\/\/api\.(?:openai|anthropic)\.com(?:\/|$)/i;

type CodexServers = { readonly 'codex.profile'?: string; readonly 'codex.config_overrides'?: string };

const hasOwnServer = (agent: AgentName, env: Environment, settings: Partial<NodeSettings>): boolean => {
  if (agent === 'openai') return hasOtherServer(env);
  const { 'codex.profile': profile, 'codex.config_overrides': overrides } = settings as CodexServers;
  if (agent === 'codex' && (profile !== undefined || overrides !== undefined)) return true;
  return (serverVariables[agent] ?? []).some((name) => {
    const value = wordOf(env[name]);
    return value !== undefined && !providersOwn.test(value);
  });
};

/** The provider because of which the agent does not get this model of a node; undefined where it does. */
export const providerAgainst = (
  agent: AgentName,
  env: Environment,
  settings: Partial<NodeSettings>,
  model: string,
  asks?: string,
): string | undefined =>
  foreignProvider(agent, settings, model, {
    asks,
    ownServer: hasOwnServer(agent, env, settings),
    fromSheet: sourceOf(settings, 'llm_model') === 'sheet',
    apart: ['llm_model', 'llm_provider'].some((key) => sourceOf(settings, key) !== 'node'),
  });

/** The agent, which uses its own default model for a task that names one of another provider; of each such model the log says it
 *  once, and so of `withheld`, the model of the run that the agent has not got. */
export function servingAgent(
  agent: Agent,
  {
    name,
    env,
    asks,
    withheld,
  }: {
    readonly name: AgentName;
    readonly env: Environment;
    readonly asks: string | undefined;
    readonly withheld: string | undefined;
  },
): Agent {
  const reported = new Set<string>();
  const report = (task: AgentTask, model: string, provider: string | undefined): void => {
    if (!reported.has(model))
      task.log('warn', `the agent ${name} has no models of ${provider}: its own default model is used`, {
        model,
      });
    reported.add(model);
  };
  return {
    ...agent,
    serving(task: AgentTask): AgentTask {
      const { model, ...others } = task;
      const special = (task.settings as { readonly [key: string]: unknown })[`${name}.model`];
      if (model === undefined && withheld !== undefined && special === undefined)
        report(task, withheld, providerAgainst(name, env, {}, withheld, asks));
      const provider =
        model === undefined ? undefined : providerAgainst(name, env, task.settings, model, asks);
      if (model === undefined || provider === undefined) return task;
      report(task, model, provider);
      return others;
    },
  };
}
