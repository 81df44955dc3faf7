/** The agents: what each reads from its nodes, how it is planned, and how it is made. What an agent is made of is loaded only
 *  when it is: most runs need one, and many need none. */
import type { Agent } from '../core/contracts/agent.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { AttributeTable } from '../core/settings/types.ts';
import { acpAttributes } from './acp/settings.ts';
import { claudeAttributes, claudeHome } from './claude-settings.ts';
import { codexAttributes, codexHome } from './codex-settings.ts';
import { commandAttributes } from './command-settings.ts';
import { fakeAgent, fakeAttributes, stubAgent } from './fake.ts';
import { planOpenai } from './openai/plan.ts';
import { openaiAttributes } from './openai/settings.ts';
import { type AgentDeps, type AgentKind, type AgentKinds, type AgentPlan, modelFlags } from './plan.ts';
import type { ProgramDefaults } from './program/settings.ts';
import { planScripted } from './scripted.ts';

/** An agent program, which takes the model and effort of the flags. */
const program = (
  name: string,
  attributes: AttributeTable,
  load: () => Promise<(options: ProgramDefaults & Pick<AgentDeps, 'clock'>) => Agent>,
): AgentKind => ({
  attributes,
  plan: (request) => {
    const flags = modelFlags(request);
    const { model } = flags;
    return {
      ...flags,
      describe: `${name}${model === undefined ? '' : ` ${model}`} (the agent program, with its own login or key)`,
      create: async ({ env, clock }) => (await load())({ ...flags, env, clock }),
    };
  },
});

export const agentKinds: AgentKinds = {
  openai: { attributes: openaiAttributes, plan: planOpenai },
  codex: program('codex', codexAttributes, async () => (await import('./codex.ts')).codexAgent),
  claude: program('claude', claudeAttributes, async () => (await import('./claude.ts')).claudeAgent),
  command: {
    attributes: commandAttributes,
    plan: (request) => {
      const { effort: _, ...flags } = modelFlags(request);
      return {
        ...flags,
        describe: 'command (the program that the node names)',
        create: async ({ env, clock }) =>
          (await import('./command.ts')).commandAgent({ ...flags, env, clock }),
      };
    },
  },
  acp: {
    attributes: acpAttributes,
    plan: (request) => {
      const { effort: _, ...flags } = modelFlags(request);
      return {
        ...flags,
        describe: 'acp (the program that the node names, by the Agent Client Protocol)',
        create: async ({ env, clock }) => (await import('./acp.ts')).acpAgent({ ...flags, env, clock }),
      };
    },
  },
  scripted: { plan: planScripted },
  fake: {
    attributes: fakeAttributes,
    plan: () => ({ describe: 'fake (test attributes, no model)', create: fakeAgent }),
  },
  stub: { plan: () => ({ describe: 'stub (does nothing)', create: stubAgent }) },
};

/** The attributes of all agents. */
export const agentAttributes: AttributeTable = Object.assign(
  {},
  ...Object.values(agentKinds).map(({ attributes }) => attributes),
);

/** Folders with sessions of agent programs. */
export const agentHomesIn = (env: Environment): readonly string[] =>
  [codexHome(env), claudeHome(env)].filter((home) => home !== undefined);

/** The agents of several plans, by the same names. */
export async function createAgents(
  plans: ReadonlyMap<string, AgentPlan>,
  deps: AgentDeps,
): Promise<ReadonlyMap<string, Agent>> {
  const agents = new Map<string, Agent>();
  // Several names may have one plan.
  const made = new Map<AgentPlan, Agent>();
  for (const [name, plan] of plans) {
    const agent = made.get(plan) ?? (await plan.create(deps));
    made.set(plan, agent);
    agents.set(name, agent);
  }
  return agents;
}
