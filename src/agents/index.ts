/** Which agent answers, and why that one. */
import type { Agent } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import { unreachable } from '../core/json.ts';
import { nearest } from '../core/nearest.ts';
import { efforts } from '../core/settings/node.ts';
import { durationMs } from '../core/settings/types.ts';
import { claudeAttributes } from './claude-settings.ts';
import { codexAttributes } from './codex-settings.ts';
import { commandAttributes } from './command-settings.ts';
import { fakeAgent, fakeAttributes, stubAgent } from './fake.ts';
import { fallbackAgent, unusableAgent } from './fallback.ts';
import { keyProblem, openaiAttributes, openaiDefaults } from './openai/settings.ts';
import type { AgentScript } from './script.ts';
import { scriptedAgent } from './scripted.ts';

export const agentNames = ['fake', 'stub', 'scripted', 'openai', 'codex', 'claude', 'command'] as const;

/** The attributes that each agent reads from its nodes. */
export const agentTables = {
  openai: openaiAttributes,
  codex: codexAttributes,
  claude: claudeAttributes,
  command: commandAttributes,
  fake: fakeAttributes,
} as const;

export const agentAttributes = {
  ...openaiAttributes,
  ...codexAttributes,
  ...claudeAttributes,
  ...commandAttributes,
  ...fakeAttributes,
} as const;

type Environment = Readonly<Record<string, string | undefined>>;
type Script = { readonly path: string; readonly script: AgentScript };

export type AgentRequest = {
  readonly env: Environment;
  /** The node's `agent.backend`. */
  readonly nodeBackend?: string;
  /** `--agent`. */
  readonly flag?: string;
  /** Where `flag` comes from, unless it was typed. */
  readonly flagBy?: string;
  /** `--model`. */
  readonly model?: string;
  /** `--effort`. */
  readonly effort?: string;
  readonly temperature?: number;
  /** The script that the pipeline bundles or the user names. */
  readonly script?: Script;
  /** Whether `--script` names it. */
  readonly scriptNamed?: boolean;
};

/** What is to be made; it carries no key, so it may be kept and shown. `chosenBy` says who decided, for people. */
export type AgentPlan =
  | SinglePlan
  /** Several, asked in order. `name` is the chosen list; model and effort are the flags', for all of them. */
  | {
      readonly chosenBy: string;
      readonly name: `${string},${string}`;
      readonly agents: readonly (SinglePlan | Unusable)[];
      readonly model?: string;
      readonly effort?: string;
    };

/** One of several that cannot answer here, and why. */
type Unusable = { readonly name: 'unusable'; readonly word: string; readonly why: string };

type SinglePlan = { readonly chosenBy: string } & (
  | { readonly name: 'fake' | 'stub' }
  | { readonly name: 'scripted'; readonly script: Script }
  | { readonly name: 'codex' | 'claude'; readonly model?: string; readonly effort?: string }
  | { readonly name: 'command'; readonly model?: string }
  | {
      readonly name: 'openai';
      readonly model: string;
      readonly baseURL: string;
      /** How much the model may think; without it that is the server's to say. */
      readonly effort?: string;
      readonly temperature?: number;
      /** Milliseconds between two looks at an answer in the background, and that it may take. */
      readonly pollMs?: number;
      readonly pollDeadlineMs?: number;
    }
);

/** Decides who answers: the override for tests, then the node, the flags, the environment, a key, the bundled script.
 *  Nothing of these is a problem, and so is an agent that cannot work here. Pure. */
export function chooseAgent(
  request: AgentRequest,
): { readonly plan: AgentPlan } | { readonly problem: Diagnostic } {
  if (request.model?.includes(',') === true) {
    return problem(
      'agent-model',
      `--model says "${request.model}": it names one model, for every node`,
      'several models in turn are a node\'s: llm_model="small,large"',
    );
  }
  const effort = trimmed(request.effort);
  // Checked even where the agent ignores it: the user typed it.
  if (effort !== undefined && !efforts.some((known) => known === effort))
    return unknownEffort(effort, '--effort');
  const asked = askedFor(request);
  if (asked !== undefined) return planFor(asked.word, asked.by, request);
  if (value(request.env, 'OPENAI_API_KEY') !== undefined) return planFor('openai', 'OPENAI_API_KEY', request);
  if (request.script !== undefined)
    return planFor('scripted', 'the script that the pipeline bundles', request);
  return problem(
    'agent-none',
    'no agent is chosen: there is no key, no --agent and no script that the pipeline bundles',
    'Set OPENAI_API_KEY to have a model answer. Pass --agent NAME (or set FACTORY_AGENT) to choose one of ' +
      `${agentNames.join(', ')}. Give the pipeline an agent script to replay prepared answers. ` +
      'Set agent.backend on a node to choose for that node alone.',
  );
}

export type AgentDeps = {
  readonly env: Environment;
  readonly clock: Clock;
  /** Reads a file as UTF-8; rejects when it cannot. */
  readonly readFile: (path: string) => Promise<string>;
};

/** The agents of several plans, by the same names. */
export async function createAgents(
  plans: ReadonlyMap<string, AgentPlan>,
  deps: AgentDeps,
): Promise<ReadonlyMap<string, Agent>> {
  const agents = new Map<string, Agent>();
  for (const [name, plan] of plans) agents.set(name, await createAgent(plan, deps));
  return agents;
}

/** Makes the agent of a plan; the key comes from the environment. What an agent is made of is loaded only here: most runs
 *  need one kind, and many need none. */
export async function createAgent(plan: AgentPlan, deps: AgentDeps): Promise<Agent> {
  if (!('agents' in plan)) return createOne(plan, deps);
  return fallbackAgent(
    await Promise.all(
      plan.agents.map((one) =>
        one.name === 'unusable' ? unusableAgent(one.word, one.why) : createOne(one, deps),
      ),
    ),
  );
}

async function createOne(plan: SinglePlan, deps: AgentDeps): Promise<Agent> {
  switch (plan.name) {
    case 'fake':
      return fakeAgent();
    case 'stub':
      return stubAgent();
    case 'scripted':
      return scriptedAgent({
        script: plan.script.script,
        scriptPath: plan.script.path,
        readFile: deps.readFile,
      });
    case 'codex': {
      const { codexAgent } = await import('./codex.ts');
      const { name: _, chosenBy: __, ...defaults } = plan;
      return codexAgent({ ...defaults, env: deps.env, clock: deps.clock });
    }
    case 'claude': {
      const { claudeAgent } = await import('./claude.ts');
      const { name: _, chosenBy: __, ...defaults } = plan;
      return claudeAgent({ ...defaults, env: deps.env, clock: deps.clock });
    }
    case 'command': {
      const { commandAgent } = await import('./command.ts');
      return commandAgent({
        ...(plan.model === undefined ? {} : { model: plan.model }),
        env: deps.env,
        clock: deps.clock,
      });
    }
    case 'openai': {
      const { openaiAgent } = await import('./openai.ts');
      const apiKey = value(deps.env, 'OPENAI_API_KEY') ?? '';
      const { name: _, chosenBy: __, ...settings } = plan;
      return openaiAgent({ ...settings, apiKey, clock: deps.clock });
    }
    default:
      return unreachable(plan);
  }
}

/** The word that chooses the agent, strongest source first. */
function askedFor({
  env,
  nodeBackend,
  flag,
  flagBy = '--agent',
  scriptNamed,
}: AgentRequest): { word: string; by: string } | undefined {
  const override = (['ATTRACTION_BACKEND', 'ATTRACTOR_BACKEND'] as const).find(
    (name) => value(env, name) !== undefined,
  );
  if (override !== undefined && env[override] === 'fake') return { word: 'fake', by: override };
  const said: readonly (readonly [string, string | undefined])[] = [
    ["the node's agent.backend", trimmed(nodeBackend)],
    [flagBy, trimmed(flag)],
    // A script is given to be used, whatever keys there are.
    ['--script', scriptNamed === true ? 'scripted' : undefined],
    ['FACTORY_AGENT', value(env, 'FACTORY_AGENT')],
    ['ATTRACTOR_AGENT_BACKEND', value(env, 'ATTRACTOR_AGENT_BACKEND')],
  ];
  for (const [by, word] of said) if (word !== undefined) return { word, by };
  const last = override === undefined ? undefined : value(env, override);
  // Other words in it have never meant anything.
  if (override !== undefined && (last === 'stub' || last === 'codex')) return { word: last, by: override };
  return undefined;
}

/** The plan of a word, or of several with commas between: those are asked in order. One that is known and lacks
 *  something here is passed over while another is left. */
function planFor(
  words: string,
  chosenBy: string,
  request: AgentRequest,
): { readonly plan: AgentPlan } | { readonly problem: Diagnostic } {
  const list = words.split(',').map((word) => word.trim());
  const [only, second] = list;
  if (only === undefined || second === undefined) return planForOne(words, chosenBy, request);
  if (list.includes('') || new Set(list).size < list.length) {
    return problem(
      'agent-list',
      `${chosenBy} asks for the agents "${words}", which has ${list.includes('') ? 'an empty entry' : 'one twice'}`,
      'write it like codex,claude',
    );
  }
  const agents: (SinglePlan | Unusable)[] = [];
  let first: Diagnostic | undefined;
  for (const word of list) {
    const one = planForOne(word, chosenBy, request);
    if ('plan' in one) agents.push(one.plan);
    else if (['agent-key', 'agent-script-missing'].includes(one.problem.code)) {
      first ??= one.problem;
      agents.push({ name: 'unusable', word, why: one.problem.message });
    } else return one;
  }
  if (first !== undefined && agents.every((one) => one.name === 'unusable')) return { problem: first };
  const name = `${only},${list.slice(1).join(',')}` as const;
  return { plan: { chosenBy, name, agents, ...flagsOf(request) } };
}

function planForOne(
  word: string,
  chosenBy: string,
  request: AgentRequest,
): { readonly plan: SinglePlan } | { readonly problem: Diagnostic } {
  const name = agentNames.find((known) => known === word);
  const { model, effort } = flagsOf(request);
  switch (name) {
    case undefined:
      return unknownAgent(word, chosenBy);
    case 'fake':
    case 'stub':
      return { plan: { name, chosenBy } };
    case 'command':
      return { plan: { name, chosenBy, ...(model === undefined ? {} : { model }) } };
    case 'codex':
    case 'claude':
      return { plan: { name, chosenBy, ...flagsOf(request) } };
    case 'scripted':
      return request.script === undefined
        ? problem(
            'agent-script-missing',
            `${chosenBy} asks for the agent "scripted", and there is no script`,
            'give the pipeline an agent script, or choose another agent',
          )
        : { plan: { name, chosenBy, script: request.script } };
    case 'openai':
      return openaiPlan(chosenBy, request.env, { model, effort, temperature: request.temperature });
    default:
      return unreachable(name);
  }
}

/** What `--model` and `--effort` say. */
function flagsOf(request: AgentRequest): { readonly model?: string; readonly effort?: string } {
  const model = trimmed(request.model);
  const effort = trimmed(request.effort);
  return { ...(model === undefined ? {} : { model }), ...(effort === undefined ? {} : { effort }) };
}

function openaiPlan(
  chosenBy: string,
  env: Environment,
  flags: Readonly<Record<'model' | 'effort', string | undefined>> & { temperature: number | undefined },
): { readonly plan: SinglePlan } | { readonly problem: Diagnostic } {
  const key = keyProblem(env['OPENAI_API_KEY'] ?? '');
  if (key !== undefined)
    return problem(
      'agent-key',
      `${chosenBy} asks for the agent "openai": ${key}`,
      'set OPENAI_API_KEY to a key of the model API, or choose another agent',
    );
  const baseURL = value(env, 'OPENAI_BASE_URL') ?? openaiDefaults.baseURL;
  const url = urlProblem(baseURL);
  if (url !== undefined)
    return problem('agent-base-url', `OPENAI_BASE_URL ${url}`, 'write it like https://api.openai.com/v1');
  const model =
    flags.model ?? value(env, 'FACTORY_MODEL') ?? value(env, 'OPENAI_MODEL') ?? openaiDefaults.model;
  const effort = flags.effort ?? value(env, 'FACTORY_EFFORT');
  if (effort !== undefined && !efforts.some((known) => known === effort))
    return unknownEffort(effort, flags.effort === undefined ? 'FACTORY_EFFORT' : '--effort');
  const waits = pollWaits(env);
  if ('problem' in waits) return waits;
  return {
    plan: {
      name: 'openai',
      chosenBy,
      model,
      baseURL,
      ...(effort === undefined ? {} : { effort }),
      ...(flags.temperature === undefined ? {} : { temperature: flags.temperature }),
      ...waits,
    },
  };
}

/** How patiently answers in the background are looked for, where the environment says. */
function pollWaits(
  env: Environment,
): { readonly pollMs?: number; readonly pollDeadlineMs?: number } | { readonly problem: Diagnostic } {
  const names = { pollMs: 'FACTORY_POLL_INTERVAL', pollDeadlineMs: 'FACTORY_POLL_DEADLINE' } as const;
  const waits: { pollMs?: number; pollDeadlineMs?: number } = {};
  for (const key of ['pollMs', 'pollDeadlineMs'] as const) {
    const said = value(env, names[key]);
    if (said === undefined) continue;
    const ms = durationMs(said);
    if (ms === undefined || ms === 0) {
      return problem(
        'agent-wait',
        `${names[key]} is "${said}", which is no length of time`,
        'write it like 5s or 40m',
      );
    }
    waits[key] = ms;
  }
  return waits;
}

function unknownAgent(word: string, chosenBy: string): { readonly problem: Diagnostic } {
  const there = `there are ${agentNames.join(', ')}`;
  const near = nearest(word, agentNames);
  return problem(
    'agent-unknown',
    `unknown agent backend: ${word} (${chosenBy}); ${there}`,
    near === undefined ? 'choose one of those' : `did you mean "${near}"?`,
  );
}

function unknownEffort(word: string, by: string): { readonly problem: Diagnostic } {
  const near = nearest(word, efforts);
  return problem(
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

const problem = (code: string, message: string, fix: string): { readonly problem: Diagnostic } => ({
  problem: { code, severity: 'error', message, fix },
});

const trimmed = (text: string | undefined): string | undefined => {
  const word = text?.trim();
  return word === '' ? undefined : word;
};
const value = (env: Environment, name: string): string | undefined => trimmed(env[name]);
