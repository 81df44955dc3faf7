/** What `factory explain NODE --pipeline FILE` says: the settings of a node, where each comes from, and which agent answers. */
import { agentNames } from '../core/contracts/agent.ts';
import type { Environment } from '../core/contracts/process.ts';
import { type Diagnostic, type Refusal, refused } from '../core/diagnostic.ts';
import { allNodes, type Graph, graphWith, type Node } from '../core/graph.ts';
import { nearest } from '../core/nearest.ts';
import { workdirOf } from '../core/pipeline.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { flagOfSetting, type SettingFlags } from '../core/settings/run.ts';
import { classesOf, stylesheetOf, stylesOf } from '../core/settings/stylesheet.ts';
import { type AttributeSpec, type AttributeTable, present } from '../core/settings/types.ts';
import { sourceOf, withFlags } from '../core/settings/typing.ts';
import { spanInValue } from '../dot/literals.ts';
import { kindsOf } from './kinds.ts';
import { modelServersFor, runProviderOf } from './model-servers.ts';
import { readPipeline } from './read-pipeline.ts';
import { chooseForNode, loadScript, modelsOfNode, programsFor } from './resolve-agents.ts';
import { serversOfNode, serversToRecord } from './servers-asked.ts';

type NodeSetting = {
  readonly name: string;
  /** The text of the pipeline. */
  readonly value: string;
  /** Who says it, in words. */
  readonly from: string;
  /** `FILE:LINE`, where the pipeline says it. */
  readonly place?: string;
};

type NodeAgentChoice =
  | {
      readonly name: string;
      readonly describe: string;
      /** Who has chosen it. */
      readonly by: string;
      /** The servers of models that it asks, by provider. */
      readonly servers: Manifest['agent']['servers'];
      /** The models that it is asked for; empty for its own default. */
      readonly models: readonly string[];
      /** Models that it is not asked for, since they belong to another provider. */
      readonly withheld: readonly string[];
    }
  | { readonly problem: string; readonly fix?: string };

/** A node as a run with these flags would execute it here. */
export type ExplainedNode = {
  readonly node: string;
  readonly type: string;
  readonly place: string;
  readonly classes: readonly string[];
  readonly settings: readonly NodeSetting[];
  /** Null for a node that asks no agent. */
  readonly agent: NodeAgentChoice | null;
};

export type ExplainFlags = Pick<
  SettingFlags,
  'agent' | 'provider' | 'model' | 'effort' | 'max_visits' | 'agent_script'
>;

export async function explainNode(
  path: string,
  id: string,
  flags: ExplainFlags,
  { cwd, env }: { readonly cwd: string; readonly env: Environment },
): Promise<ExplainedNode | Refusal> {
  const { anyGraph, found } = await readPipeline(path, cwd, { toRun: false });
  if (anyGraph === undefined) return { problems: found.filter(({ severity }) => severity === 'error') };
  const { max_visits } = flags;
  const run = withFlags(anyGraph, { max_visits, command_timeout: undefined });
  const node = allNodes(run).get(id);
  const graph = graphWith(run, id);
  const table = kindsOf(graph).find(({ type }) => type === node?.type)?.attributes;
  if (node === undefined || table === undefined) return noNode(run, id, node);
  const agent = 'agent.backend' in table ? await agentFor(run, node, flags, { cwd, env }) : null;
  return {
    node: id,
    type: node.type,
    place: placeIn(graph, node.span.start.line),
    classes: classesOf(node),
    settings: settingsOf(graph, node, table, flags).filter(
      ({ name, from }) => from !== builtIn || !isOfOther(name, agent),
    ),
    agent,
  };
}

function noNode(graph: Graph, id: string, node: Node | undefined): Refusal {
  if (node !== undefined)
    return refused(
      'usage',
      `the type of the node "${id}" is unknown`,
      `factory validate ${graph.file} says more`,
    );
  const ids = [...allNodes(graph).keys()];
  const meant = nearest(id, ids);
  const fix = meant === undefined ? `its nodes are ${ids.join(', ')}` : `did you mean ${meant}?`;
  return refused('usage', `${graph.file} has no node "${id}"`, fix);
}

const placeIn = ({ file }: Graph, line: number): string => `${file}:${line}`;

const builtIn = 'built in';

/** Whether an attribute is one of another agent than the chosen ones: `codex.path`. */
function isOfOther(name: string, agent: NodeAgentChoice | null): boolean {
  const chosen = agent === null || 'problem' in agent ? [] : agent.name.split(',');
  return agentNames.some((one) => name.startsWith(`${one}.`) && !chosen.includes(one));
}

/** Every setting with a value: what the pipeline and the flags say first, then what is built in. */
function settingsOf(
  graph: Graph,
  node: Node,
  table: AttributeTable,
  flags: ExplainFlags,
): readonly NodeSetting[] {
  const sheet = stylesheetOf(graph.attrs);
  const styles = sheet === undefined ? undefined : stylesOf(sheet, node);
  const one = (name: string, spec: AttributeSpec): NodeSetting | undefined => {
    const flag = flagValue(name, flags);
    const source = sourceOf(node.settings, name);
    const attribute = present(node.attrs, name);
    switch (source) {
      case 'flag':
        return {
          name,
          value: String((node.settings as Record<string, unknown>)[name]),
          from: flagOfSetting(spec),
        };
      case 'node':
        if (attribute === undefined) return undefined;
        return {
          ...{ name, value: attribute.value.text },
          from: attribute.byDefault === true ? 'node [ ] above it' : 'the node',
          place: placeIn(graph, attribute.keySpan.start.line),
        };
      case 'sheet': {
        const style = styles?.get(name);
        if (style === undefined || sheet === undefined) return undefined;
        const { property, rule } = style;
        const { start } = spanInValue(graph, sheet.attribute, property.at, property.length);
        const from = `rule ${rule.selector} of the stylesheet`;
        return { name, value: property.value, from, place: placeIn(graph, start.line) };
      }
      case 'graph': {
        const ofGraph = present(graph.attrs, spec.graph ?? '');
        if (ofGraph === undefined) return undefined;
        const place = placeIn(graph, ofGraph.keySpan.start.line);
        return { name, value: ofGraph.value.text, from: `${spec.graph} of the graph`, place };
      }
      default:
        if (flag !== undefined) return { name, ...flag };
        return spec.default === undefined ? undefined : { name, value: spec.default, from: builtIn };
    }
  };
  const found = Object.entries(table).flatMap(([name, spec]) => one(name, spec) ?? []);
  return [...found.filter(({ from }) => from !== builtIn), ...found.filter(({ from }) => from === builtIn)];
}

/** What a flag says where neither node nor graph does. */
function flagValue(name: string, { model, effort }: ExplainFlags): Omit<NodeSetting, 'name'> | undefined {
  if (name === 'llm_model' && model !== undefined) return { value: model, from: '--model' };
  if (name === 'reasoning_effort' && effort !== undefined) return { value: effort, from: '--effort' };
  return undefined;
}

const problemOf = (found: Diagnostic | undefined): NodeAgentChoice => ({
  problem: found?.message ?? '',
  ...(found?.fix === undefined ? {} : { fix: found.fix }),
});

async function agentFor(
  graph: Graph,
  node: Node,
  { agent, provider, model, effort, agent_script: path }: ExplainFlags,
  { cwd, env }: { readonly cwd: string; readonly env: Environment },
): Promise<NodeAgentChoice> {
  const loaded = await loadScript(graph, path, cwd);
  const script = 'problems' in loaded ? undefined : loaded.script;
  const given = modelServersFor(workdirOf(graph, {}, cwd) ?? cwd, env);
  if ('problems' in given) return problemOf(given.problems[0]);
  const { servers } = given;
  const runProvider = runProviderOf(undefined, { provider }, given, env);
  const chosen = chooseForNode(node, {
    ...{ env, servers, runProvider, flag: agent, model, effort, script, scriptNamed: path !== undefined },
    programs: await programsFor(graph, env, cwd),
  });
  if ('problem' in chosen) return problemOf(chosen.problem);
  const { plan } = chosen;
  const each = (plan.agents ?? [plan]).map((one) => modelsOfNode(one, node.settings, env));
  const models = new Set(each.flatMap((one) => one.models));
  // Of several agents another one may have it.
  const withheld = new Set(each.flatMap((one) => one.withheld).filter((one) => !models.has(one)));
  const asked = serversOfNode(plan, node, env);
  const wrongly = asked.find(({ problem }) => problem !== undefined);
  if (wrongly !== undefined) return problemOf(wrongly.problem);
  return {
    ...{ name: plan.name, describe: plan.describe, by: plan.chosenBy },
    servers: serversToRecord(asked.map(({ server }) => server)),
    ...{ models: [...models], withheld: [...withheld] },
  };
}
