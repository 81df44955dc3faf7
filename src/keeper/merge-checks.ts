/** What verifies a merge of a pull request: a pipeline with the commands that have accepted its run, and its scenarios. */
import { join } from 'node:path';
import * as z from 'zod';
import { folderOf } from '../app/inspect/folder.ts';
import { type CurrentInBuild, currentOrderIn } from '../app/inspect/groups.ts';
import { storedGraph } from '../app/read-pipeline.ts';
import { spoken } from '../builder/unittest.ts';
import { wholePlanKey } from '../builder/verify.ts';
import { isJudge } from '../core/failure-class.ts';
import { type Graph, nodeOf } from '../core/graph.ts';
import { own, parseJson } from '../core/json.ts';
import { once } from '../core/once.ts';
import { nodeLayout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { VisitRecord } from '../core/records/visit.ts';
import { expand } from '../core/references.ts';
import { sha256 } from '../core/sha256.ts';
import { readPlain } from '../platform/files/read.ts';
import { isJudging, reportedOutdated, spokenCommand } from '../run/evidence.ts';
import { reportedProof } from '../run/result.ts';
import type { RunHistory } from '../run/run-journal.ts';

/** A node of that pipeline. */
export type MergeCheck = {
  readonly attributes: Readonly<Record<string, string>>;
  /** Of a verification. */
  readonly plan?: { readonly files: readonly string[]; readonly commands: readonly string[] };
  /** Scenarios judge. */
  readonly judge?: string;
};

/** Attributes that say how a node executes. */
const kept = [
  ...['timeout', 'env_pass', 'access', 'sees_holdout', 'sandbox', 'sandbox_bind', 'isolation', 'network'],
  ...['max_memory', 'max_processes', 'max_file_size', 'shell', 'max_retries', 'retry_delay', 'retry_backoff'],
  ...['judge', 'floor', 'allow_no_tests', 'verification.may_change', 'verification.workdir', 'rerun'],
];
/** The same of a graph. */
const keptOfGraph = [
  ...[
    'default_timeout',
    'default_max_retries',
    'env_pass',
    'secrets',
    'sandbox',
    'sandbox_bind',
    'isolation',
  ],
  ...['network', 'max_memory', 'max_processes', 'max_file_size', 'shell', 'floor'],
];

type Accepted = { readonly dir: string; readonly manifest: Manifest; readonly history: RunHistory };

/** The checks of a run's last executions, of each order for itself; `problem`: why they cannot be repeated. */
export async function checksOfRun({
  dir,
  manifest,
  history,
}: Accepted): Promise<{ readonly checks: readonly MergeCheck[] } | { readonly problem: string }> {
  const graph = storedGraph(manifest);
  const holds = heldOnHead(history, graph);
  const checks = new Map<string, MergeCheck>();
  for (const { visit, isLast } of lastVisits(history)) {
    const attributes = keptAttributes(nodeOf(graph, visit.node)?.attrs, kept);
    const plans = await plansOf(dir, visit);
    if (plans === undefined) return { problem: `the plan of its node ${visit.node} is not as recorded` };
    for (const plan of plans)
      if (isLast || plan.commands.every((command) => holds(visit, command)))
        checks.set(JSON.stringify(plan), { attributes, plan });
    if (!isLast || !hasJudged(visit, graph, manifest)) continue;
    const judge = judgeText(graph, visit.node, manifest);
    if ('unknown' in judge) return { problem: `its scenarios are given ${judge.unknown}` };
    checks.set(judge.text, { attributes, judge: judge.text });
  }
  return { checks: [...checks.values()] };
}

/** Whether a command that passed for an earlier order has to hold on the last commit, too: later orders may have superseded it. A
 *  command that verifies the project has to where the proof has repeated it. */
function heldOnHead({ checkpoint }: RunHistory, graph: Graph | undefined) {
  const outdated = new Set(reportedOutdated(checkpoint).map(({ command }) => command));
  const proved = new Set(reportedProof(checkpoint) ?? []);
  return ({ node }: VisitRecord, command: string): boolean =>
    nodeOf(graph, node)?.settings['verification.plan_context_key'] === wholePlanKey
      ? proved.has(spoken(command))
      : !outdated.has(spoken(command));
}

/** Whether a tool's commands are scenarios, or judge as they do. */
function hasJudged(
  { node: id, node_type, commands = [] }: VisitRecord,
  graph: Graph | undefined,
  { holdout }: Manifest,
): boolean {
  if (node_type !== 'tool') return false;
  const judge = nodeOf(graph, id)?.settings.judge === true;
  const scenarios = holdout?.paths ?? graph?.settings.holdout ?? [];
  return commands
    .map(({ argv }) => spokenCommand(argv))
    .some((command) => isJudging(command) || isJudge({ command, scenarios, judge }));
}

/** The last execution of each node for each order of a build. `isLast`: of the node. */
function lastVisits({
  records,
}: RunHistory): readonly { readonly visit: VisitRecord; readonly isLast: boolean }[] {
  const byOrder = new Map<string, VisitRecord>();
  const ofNode = new Map<string, VisitRecord>();
  let order: CurrentInBuild | undefined;
  for (const record of records) {
    if (record.type !== 'Visit') continue;
    ofNode.set(record.node, record);
    byOrder.set(JSON.stringify([record.node, order?.id]), record);
    order = currentOrderIn(record, order);
  }
  return [...byOrder.values()].map((visit) => ({ visit, isLast: ofNode.get(visit.node) === visit }));
}

const planSchema = once(() => z.object({ files: z.array(z.string()), commands: z.array(z.string()) }));

/** A plan for the files, and one for each command: each that fails is named. Undefined if they are not as recorded. */
async function plansOf(dir: string, visit: VisitRecord) {
  const { node_type, outcome, artifacts = {} } = visit;
  if (node_type !== 'verification' || outcome.status !== 'success') return [];
  const read = readPlain(nodeLayout(await folderOf(dir, visit)).verificationPlan);
  // A program of the run may have written to the folder.
  if (read.kind !== 'text' || sha256(read.text) !== own(artifacts, 'verification.plan.json'))
    return undefined;
  const { files, commands } = planSchema().parse(parseJson(read.text));
  return [
    ...(files.length === 0 ? [] : [{ files, commands: [] }]),
    ...commands.map((command) => ({ files: [], commands: [command] })),
  ];
}

function judgeText(graph: Graph | undefined, id: string, { variables }: Manifest) {
  const written = nodeOf(graph, id)?.attrs.get('tool_command')?.value.text ?? '';
  const lookup = (kind: string, key: string) => {
    const variable = kind === 'var' ? own(variables, key) : undefined;
    return variable?.file === undefined ? variable?.value : undefined;
  };
  const expanded = expand(written, { goal: undefined, lookup }, 'shell');
  return 'unknown' in expanded
    ? expanded
    : { text: expanded.text.replace(/--floor[= ]strict\b/, '--floor=true').replaceAll('${', '$${') };
}

/** A merge has no work before which a scenario could fail. */
const floorOfMerge = (name: string, text: string): string =>
  name === 'floor' && text === 'strict' ? 'true' : text;

const keptAttributes = (
  attrs: Graph['attrs'] | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const text = attrs?.get(name)?.value.text;
      return text === undefined ? [] : [[name, floorOfMerge(name, text)]];
    }),
  );

/** The id of the node of a check, which counts from 0. */
export const checkNode = (at: number): string => `check_${at + 1}`;

/** The pipeline, and the file next to it with the plans. Every check is executed, whatever those before say. */
export function mergePipeline(
  checks: readonly MergeCheck[],
  { manifest, label, plans }: { readonly manifest: Manifest; readonly label: string; readonly plans: string },
): { readonly pipeline: string; readonly plans: string } {
  const ids = checks.map((_, at) => checkNode(at));
  const path = ['start', 'plans', ...ids, 'exit'];
  const lines = [
    node('graph', {
      ...keptAttributes(storedGraph(manifest)?.attrs, keptOfGraph),
      ...{ label, goal: 'Verify a merge', vars: `plans=@${plans}` },
    }),
    node('start', { shape: 'Mdiamond' }),
    node('plans', {
      ...{ shape: 'parallelogram', label: 'Commands and files', sets_plan: 'true' },
      tool_command: 'cat ${var.plans} > "$FACTORY_OUTPUT"',
    }),
    ...checks.map((check, at) => node(checkNode(at), checkAttributes(check, at))),
    node('exit', { shape: 'Msquare' }),
    ...path.slice(1).flatMap((id, at) => edges(path[at] ?? '', id, ids)),
  ];
  const updates = checks.flatMap(({ plan }, at) => (plan === undefined ? [] : [[keyOf(at), plan] as const]));
  return {
    pipeline: `digraph merge_check {\n${lines.map((line) => `  ${line}\n`).join('')}}\n`,
    plans: `${JSON.stringify({ context_updates: Object.fromEntries(updates) }, null, 2)}\n`,
  };
}

const keyOf = (at: number): string => `merge.${checkNode(at)}`;

const checkAttributes = ({ attributes, plan, judge }: MergeCheck, at: number) =>
  plan === undefined
    ? {
        ...attributes,
        shape: 'parallelogram',
        label: 'Scenarios',
        goal_gate: 'true',
        tool_command: judge ?? '',
      }
    : {
        ...attributes,
        ...{ type: 'verification', goal_gate: 'true', 'verification.allowed_commands': '@plan' },
        'verification.plan_context_key': keyOf(at),
      };

const node = (id: string, attributes: Readonly<Record<string, string>>): string =>
  `${id} [${Object.entries(attributes)
    .map(([name, value]) => `${quotedText(name)}=${quotedText(value)}`)
    .join(', ')}]`;

const edges = (from: string, to: string, gates: readonly string[]): readonly string[] => [
  `${from} -> ${to}`,
  // What exits in vain is a failed goal gate.
  ...(gates.includes(from) && to !== 'exit' ? [`${from} -> ${to} ["condition"="outcome=fail"]`] : []),
];

const quotedText = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r')}"`;

/** The checks that the product has failed in a run of that pipeline: the commands and files by name; `judge` for the scenarios. */
export function failedChecksIn(
  history: RunHistory,
  checks: readonly MergeCheck[],
): { readonly commands: readonly string[]; readonly files: readonly string[]; readonly judge: boolean } {
  const failed = lastVisits(history)
    .filter(({ visit: { outcome } }) => outcome.status === 'fail' && outcome.class === 'product')
    .flatMap(({ visit: { node: id } }) => checks.filter((_, at) => checkNode(at) === id));
  return {
    commands: failed.flatMap(({ plan }) => [...(plan?.commands ?? [])]),
    files: failed.flatMap(({ plan }) => [...(plan?.files ?? [])]),
    judge: failed.some(({ judge }) => judge !== undefined),
  };
}

/** Where the files of a merge are kept. */
export const mergeFiles = (folder: string, round: string) => ({
  pipeline: join(folder, `${round}.dot`),
  plans: join(folder, `${round}.json`),
});
