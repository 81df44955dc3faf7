/** Chooses the agents of a pipeline's nodes before the run. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { chooseAgent } from '../agents/choose.ts';
import { readClaudeSettings } from '../agents/claude-settings.ts';
import { readCodexSettings } from '../agents/codex-settings.ts';
import type { AgentPlan, AgentRequest } from '../agents/plan.ts';
import { findExecutable } from '../agents/program/executable.ts';
import type { AgentScript } from '../agents/script.ts';
import { scriptMatchesInputs } from '../agents/scripted.ts';
import { providerAgainst } from '../agents/serving.ts';
import { withModels } from '../core/agent-words.ts';
import { agentNames } from '../core/contracts/agent.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Diagnostic, Refusal } from '../core/diagnostic.ts';
import { type Graph, graphWith, type Node } from '../core/graph.ts';
import { nearest } from '../core/nearest.ts';
import { agentKeyOf, agentNodes, backendOf } from '../core/pipeline.ts';
import { agentsForProvider, prefixOf, providerOf } from '../core/providers.ts';
import { present } from '../core/settings/types.ts';
import { spanOfStyle } from '../dot/literals.ts';
import { valueEdit } from '../lint/repair-edits.ts';
import { isMissing, readFailure } from '../platform/files/write.ts';
import type { Inputs } from './inputs.ts';

export type LoadedScript = { readonly path: string; readonly script: AgentScript; readonly text: string };

/** The agents of a run: one plan for each backend that a node names, and the run's own. */
export type AgentAssignment = {
  readonly plans: ReadonlyMap<string, AgentPlan>;
  /** The run's agent in words; empty when no node needs one. */
  readonly main: AgentPlan | undefined;
};

/** The place of a node's agent attribute, or of the stylesheet's for it; without one, of the node. */
const placeOf = (run: Graph, node: Node) => {
  const graph = graphWith(run, node.id);
  const named = present(node.attrs, 'agent.backend')?.valueSpan;
  return { file: graph.file, span: named ?? spanOfStyle(graph, node, 'agent.backend') ?? node.span };
};

/** Codes of choices that are wrong on any machine. */
const misspelt: readonly string[] = ['agent-unknown', 'agent-list', 'agent-effort'];

/** Unknown agents that nodes name. */
export function unknownAgentNames(graph: Graph): readonly Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  for (const node of agentNodes(graph)) {
    const nodeBackend = backendOf(node);
    if (nodeBackend === '' || found.has(nodeBackend)) continue;
    const chosen = chooseAgent({ env: {}, nodeBackend });
    if ('problem' in chosen && misspelt.includes(chosen.problem.code))
      found.set(nodeBackend, {
        ...chosen.problem,
        place: placeOf(graph, node),
        ...nameEdits(graph, nodeBackend),
      });
  }
  return [...found.values()];
}

/** The nearest agent's name wherever a node of the graph's own file names that one. */
function nameEdits(graph: Graph, written: string): Pick<Diagnostic, 'edits' | 'sure'> {
  const meant = nearest(written, agentNames);
  if (meant === undefined) return {};
  const edits = [...graph.nodes.values()].flatMap((node) => {
    const named = present(node.attrs, 'agent.backend');
    return named?.value.text.trim() === written ? [valueEdit(graph, named, meant)] : [];
  });
  return edits.length === 0 ? {} : { edits, sure: true };
}

/** Codes of choices that may be right on another machine, with its keys and settings. */
const ofThisMachine: readonly string[] = [
  ...['agent-none', 'agent-key', 'agent-base-url', 'agent-wait', 'agent-provider'],
];

/** `elsewhere`: another machine executes the run, so that only what is wrong on any refuses it. */
export function resolveAgents(
  graph: Graph,
  {
    elsewhere = false,
    ...choice
  }: Omit<AgentRequest, 'nodeBackend' | 'provider' | 'prefix'> & { elsewhere?: boolean },
): AgentAssignment | Refusal {
  const plans = new Map<string, AgentPlan>();
  const problems: Diagnostic[] = [];
  for (const node of agentNodes(graph)) {
    const key = agentKeyOf(node);
    if (plans.has(key)) continue;
    const chosen = chooseForNode(node, choice);
    if ('plan' in chosen) plans.set(key, knownPlan(plans, chosen.plan));
    else if (!elsewhere || !ofThisMachine.includes(chosen.problem.code))
      problems.push({ ...chosen.problem, place: placeOf(graph, node) });
  }
  // A wrong flag is an error also where no node uses it.
  if (plans.size === 0 && problems.length === 0) {
    const { flag, effort } = choice;
    const chosen = chooseAgent({ env: {}, flag, effort });
    if ('problem' in chosen && misspelt.includes(chosen.problem.code)) problems.push(chosen.problem);
  }
  if (problems.length > 0) return { problems: problems.slice(0, 1) };
  return { plans, main: plans.get('') ?? [...plans.values()][0] };
}

/** The agent of a node, and who has chosen it. */
export const chooseForNode = (
  node: Node,
  choice: Omit<AgentRequest, 'nodeBackend' | 'provider' | 'prefix'>,
) =>
  chooseAgent({
    ...choice,
    nodeBackend: backendOf(node),
    provider: providerOf(node.settings),
    prefix: prefixOf(node.settings),
  });

/** A plan by the same choice, so that one agent answers for both. */
const knownPlan = (plans: AgentAssignment['plans'], plan: AgentPlan): AgentPlan =>
  [...plans.values()].find(
    (one) =>
      one.name === plan.name &&
      one.chosenBy === plan.chosenBy &&
      JSON.stringify(serversOfPlan(one)) === JSON.stringify(serversOfPlan(plan)),
  ) ?? plan;

const serversOfPlan = (plan: AgentPlan) => (plan.agents ?? [plan]).map(({ server }) => server ?? null);

/** The agents that providers have chosen, by provider. */
export const agentsByProvider = ({ plans }: AgentAssignment): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...plans].flatMap(([key, { name, chosenBy }]) =>
      key === chosenBy ? [[key.replace(/^llm_provider=/, ''), name]] : [],
    ),
  );

/** The agent programs that can be started here for nodes that name a provider. */
export async function programsFor(graph: Graph, env: Environment, cwd: string): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const node of agentNodes(graph))
    for (const agent of backendOf(node) === '' ? agentsForProvider(providerOf(node.settings)) : []) {
      if (found.has(agent) || (agent !== 'codex' && agent !== 'claude')) continue;
      const readSettings = agent === 'codex' ? readCodexSettings : readClaudeSettings;
      const read = readSettings({ settings: node.settings, workspace: cwd }, { env });
      if ('problem' in read) continue;
      const program = await findExecutable(agent, read.settings.executable, env['PATH'], '');
      if ('path' in program) found.add(agent);
    }
  return [...found];
}

/** Whether one of the agents answers from the script. */
export const usesScript = ({ plans }: AgentAssignment): boolean =>
  [...plans.values()].some(
    (plan) =>
      plan.name === 'scripted' || ('agents' in plan && plan.agents.some((one) => one.name === 'scripted')),
  );

/** The script that a flag names, else the one that the pipeline bundles. */
export async function loadScript(
  graph: Graph,
  flag: string | undefined,
  cwd: string,
): Promise<{ script: LoadedScript | undefined } | Refusal> {
  const bundled = graph.settings.agent_script;
  const path =
    flag !== undefined
      ? resolve(cwd, flag)
      : bundled === undefined
        ? undefined
        : resolve(cwd, graph.file, '..', bundled);
  if (path === undefined) return { script: undefined };
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const message = isMissing(error)
      ? `there is no agent script ${path}`
      : `the agent script ${path} cannot be read: ${readFailure(error)}`;
    const span = flag === undefined ? graph.attrs.get('agent_script')?.valueSpan : undefined;
    const place = span === undefined ? {} : { place: { file: graph.file, span } };
    return {
      problems: [
        {
          code: 'agent-script-file',
          severity: 'error',
          message,
          ...place,
          fix: 'the path is relative to the pipeline file; --script is relative to the current directory',
        },
      ],
    };
  }
  const { parseAgentScript } = await import('../agents/script.ts');
  const parsed = parseAgentScript(path, text);
  return 'diagnostics' in parsed
    ? { problems: parsed.diagnostics }
    : { script: { path, script: parsed.script, text } };
}

/** The script with the contents of the files that it names, so that a run needs nothing outside its directory. */
export async function selfContained(loaded: LoadedScript): Promise<AgentScript | Refusal> {
  const answers: Record<string, AgentScript['answers'][string]> = {};
  for (const [node, list] of Object.entries(loaded.script.answers)) {
    const inlined = [];
    for (const answer of list) {
      let named = '';
      const read = (file: string) => {
        named = file;
        return readFile(resolve(loaded.path, '..', file));
      };
      try {
        const files = [];
        for (const { content_file, ...effect } of answer.files ?? [])
          files.push(
            content_file === undefined
              ? effect
              : { ...effect, base64: (await read(content_file)).toString('base64') },
          );
        const { file, ...rest } = { ...answer, ...(answer.files === undefined ? {} : { files }) };
        inlined.push(file === undefined ? rest : { ...rest, text: (await read(file)).toString('utf8') });
      } catch (error) {
        const message = `the agent script ${loaded.path} names ${named} for node "${node}", which cannot be read: ${readFailure(error)}`;
        return {
          problems: [
            {
              code: 'agent-script-file',
              severity: 'error',
              message,
              fix: 'the path is relative to the script',
            },
          ],
        };
      }
    }
    answers[node] = inlined;
  }
  return { ...loaded.script, answers };
}

/** Why a script may not answer for these inputs (an input that it names has other contents), or undefined. */
export function scriptProblem(script: AgentScript, inputs: Inputs): Diagnostic | undefined {
  const hashes = Object.fromEntries(
    Object.entries(inputs.variables).flatMap(([name, v]) =>
      v.file === undefined ? [] : [[name, v.file.sha256]],
    ),
  );
  return scriptMatchesInputs(script, hashes);
}

/** Describes the agent of the graph's nodes, for records and people: with the models that they ask. */
export function describeAgent(
  plan: AgentPlan,
  graph: Graph,
  plans: AgentAssignment['plans'],
  env: Environment,
): string {
  const nodes = agentNodes(graph).filter((node) => plans.get(agentKeyOf(node)) === plan);
  return (plan.agents ?? [plan])
    .map((one) => withModels(one.describe, one.name === 'unusable' ? [] : modelsAsked(one, nodes, env)))
    .join(', else ');
}

/** The models that the nodes name, and the agent's own where one names none of its provider. */
const modelsAsked = (plan: AgentPlan, nodes: readonly Node[], env: Environment): readonly string[] => [
  ...new Set(nodes.flatMap(({ settings }) => modelsOfNode(plan, settings, env).models)),
];

/** The models that an agent is asked for by a node, and those that it is not, since they are another provider's. */
export function modelsOfNode(
  { name, model, server }: Pick<AgentPlan, 'name' | 'model' | 'server'>,
  settings: Node['settings'],
  env: Environment,
): { readonly models: readonly string[]; readonly withheld: readonly string[] } {
  const special = (settings as { readonly [key: string]: unknown })[`${name}.model`];
  if (typeof special === 'string') return { models: [special], withheld: [] };
  const named = settings.llm_model ?? [];
  const agent = agentNames.find((one) => one === name);
  const withheld = named.filter(
    (one) =>
      agent !== undefined && providerAgainst(agent, env, settings, one, server?.provider) !== undefined,
  );
  const own = withheld.length > 0 || named.length === 0 ? (model === undefined ? [] : [model]) : [];
  return { models: [...named.filter((one) => !withheld.includes(one)), ...own], withheld };
}
