/** `factory simulate`: the way of a run through a pipeline for given outcomes; nothing is executed. */
import { pipelinePath } from '../app/pipelines.ts';
import { readPipeline } from '../app/read-pipeline.ts';
import { passesOn, type SimulatedStep, type Simulation, simulate, unusedOutcomes } from '../app/simulate.ts';
import { countedItems } from '../core/amounts.ts';
import { allNodes, fanOutType, type Graph, graphWith, type Node } from '../core/graph.ts';
import { choicesOf, isHumanGate, optionsNamed, outcomeOfOption } from '../core/human-gate.ts';
import { nearest } from '../core/nearest.ts';
import type { Outcome } from '../core/outcome.ts';
import { wordsOfNode } from '../core/own-words.ts';
import { quoteWord, withoutPercents } from '../core/policy/words.ts';
import type { RouteCandidate } from '../core/records/trace.ts';
import { simulatedOutcome } from '../core/simulated-outcome.ts';
import { usage } from './find-run.ts';
import { type Io, paints } from './io.ts';
import { columns, oneLine, type Paint, painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type SimulateOptions = {
  /** `NODE=fail,success`. */
  readonly outcome?: readonly string[];
  readonly steps?: number;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Exit code 0 where the run would succeed, else 1; 2 for a pipeline that cannot run, or an outcome that is none. */
export async function simulateCommand(
  pipeline: string,
  options: SimulateOptions,
  io: Io,
): Promise<VerbResult> {
  const { graph, found } = await readPipeline(pipelinePath(pipeline, io.cwd), io.cwd, { toRun: false });
  if (graph === undefined) return { problems: found.filter((one) => one.severity === 'error') };
  const outcomes = new Map<string, readonly Outcome[]>();
  for (const given of options.outcome ?? []) {
    const read = readOutcomes(given, graph);
    if ('problems' in read) return read;
    if (outcomes.has(read.node)) {
      const all = (options.outcome ?? []).filter((one) => one.startsWith(`${read.node}=`));
      const joined = all.map((one) => one.slice(read.node.length + 1)).join(',');
      return usage(
        `--outcome names ${read.node} twice`,
        `write --outcome ${quoteWord(`${read.node}=${joined}`)}`,
      );
    }
    outcomes.set(read.node, read.outcomes);
  }
  const simulation = simulate(graph, outcomes, options.steps ?? 200);
  const ok = simulation.ending?.ok === true;
  if (options.json === true) io.out(`${JSON.stringify(record(pipeline, simulation), null, 2)}\n`);
  else print(simulation, outcomes, painter(paints(io, io.outIsTerminal, options.color)), io);
  return ok ? 0 : 1;
}

function readOutcomes(given: string, run: Graph) {
  const example = 'for example --outcome check=fail,success';
  const at = given.indexOf('=');
  if (at < 1) return usage(`--outcome ${given} is not NODE=OUTCOME`, example);
  const id = given.slice(0, at);
  const node = allNodes(run).get(id);
  if (node === undefined) {
    const meant = nearest(id, allNodes(run).keys());
    return usage(
      `--outcome ${given}: there is no node "${id}"`,
      meant === undefined ? example : `did you mean ${meant}?`,
    );
  }
  const graph = graphWith(run, id);
  if (passesOn(graph, node))
    return usage(
      `--outcome ${given}: ${id} is ${node.type === 'exit' ? 'an' : 'a'} ${node.type} node, which ${node.type === 'conditional' ? 'passes the outcome before it on' : node.type === fanOutType ? 'only begins branches' : 'always succeeds'}`,
      'name a node that does work',
    );
  const outcomes: Outcome[] = [];
  const words = wordsOfNode(graph, node);
  for (const item of given.slice(at + 1).split(',')) {
    const read = answerAtGate(item, graph, node) ?? simulatedOutcome(item, words);
    if ('why' in read)
      return usage(`--outcome ${given}: ${read.why}`, `${example}; factory simulate --help tells the forms`);
    outcomes.push(read.outcome);
  }
  return { node: id, outcomes };
}

/** `label:Approve`: an option of a human gate by its label, key or target. Undefined for any other item. */
function answerAtGate(
  item: string,
  graph: Graph,
  node: Node,
): { readonly outcome: Outcome } | { readonly why: string } | undefined {
  const word = /^\s*label:(.*)$/s.exec(item)?.[1]?.trim();
  if (word === undefined || !isHumanGate(node)) return undefined;
  const { options } = choicesOf(graph, node);
  const [option, another] = optionsNamed(options, withoutPercents(word));
  if (option !== undefined && another === undefined) return { outcome: outcomeOfOption(graph, node, option) };
  const names = options.map(({ key, label }) => `${key} (${label})`).join(', ');
  return {
    why: `${node.id} has ${option === undefined ? 'no' : 'more than one'} option "${word}"; there are ${names}`,
  };
}

const record = (pipeline: string, { steps, ending }: Simulation) => ({
  schema_version: 1,
  pipeline,
  steps: steps.map(({ node, visit, outcome, attempts, route, rerouted, restart, ...of }) => ({
    node: node.id,
    visit,
    ...(of.branches.length === 0 ? {} : { branch: of.branches.at(-1) }),
    outcome: outcome.status,
    ...(attempts > 1 ? { attempts } : {}),
    next: rerouted ?? of.opens?.join ?? route?.edge?.to ?? null,
    how: rerouted === undefined ? (route?.how ?? 'exit') : 'gate',
    ...(restart === undefined ? {} : { restart }),
    ...(of.opens === undefined ? {} : { branches: of.opens.branches }),
    ...(of.branchFails === undefined ? {} : { branch_fails: of.branchFails }),
    ...(of.joins.length === 0
      ? {}
      : { joined: of.joins.map(({ id, end: { status, reason } }) => ({ id, status, reason })) }),
    candidates: route?.candidates ?? [],
  })),
  end: ending === undefined ? null : { ok: ending.ok, exit_node: ending.exitNode, reason: ending.reason },
});

function print(
  simulation: Simulation,
  outcomes: ReadonlyMap<string, readonly Outcome[]>,
  paint: Paint,
  io: Io,
): void {
  const { steps, ending } = simulation;
  const width = io.outIsTerminal ? io.width : 120;
  const rows = columns(steps.map((one, at) => [String(at + 1), nameOf(one), summary(one), wayOf(one)]));
  for (const [at, { cells, used, last }] of rows.entries()) {
    io.out(`${[...cells, oneLine(last, Math.max(20, width - used))].join('  ').trimEnd()}\n`);
    const others = (steps[at]?.route?.candidates ?? []).filter((one) => one.lost !== undefined);
    for (const ended of endsMet(steps[at]))
      io.out(
        `${paint.dim(`${' '.repeat(Math.max(0, used))}${oneLine(ended, Math.max(20, width - used))}`)}\n`,
      );
    for (const other of others)
      io.out(
        `${paint.dim(`${' '.repeat(Math.max(0, used))}${oneLine(rejection(other), Math.max(20, width - used))}`)}\n`,
      );
  }
  for (const [node, given] of outcomes) {
    const left = unusedOutcomes(simulation, node, given);
    if (left > 0) io.out(`not used: ${countedItems(left, 'outcome')} of ${node}\n`);
  }
  const count = countedItems(steps.length, 'step');
  if (ending === undefined)
    io.out(`${paint.yellow('■ stopped')} after ${count}; --steps sets another number\n`);
  else if (ending.ok)
    io.out(`${paint.green('✓ success')} at ${ending.exitNode} after ${count}; nothing was executed\n`);
  else io.out(`${paint.red('✗ fails')} after ${count}: ${ending.reason}\n`);
}

/** Nodes of branches are shifted to the right. */
const nameOf = ({ node, visit, branches }: SimulatedStep): string =>
  `${'  '.repeat(branches.length)}${node.id}${visit === 1 ? '' : `@${visit}`}`;

/** The branches that meet in a node, where not all have succeeded. */
const endsMet = (step: SimulatedStep | undefined): readonly string[] =>
  (step?.joins ?? []).flatMap(({ id, end: { ok, status, reason } }) =>
    ok ? [] : [`branch ${id} ${status}${reason === '' ? '' : `: ${reason}`}`],
  );

/** The outcome of a step; for an exit with outcome=fail, that of the run. */
const summary = ({ node, outcome, attempts }: SimulatedStep): string =>
  [
    node.type === 'exit' && node.settings.outcome === 'fail' ? 'fail' : outcome.status,
    outcome.status === 'fail' ? outcome.class : '',
    outcome.status === 'fail' && outcome.broke ? 'broke' : '',
    outcome.label === '' ? '' : `"${outcome.label}"`,
    attempts > 1 ? `after ${attempts} attempts` : '',
  ]
    .filter((word) => word !== '')
    .join(' ');

/** The node that follows, and why. */
function wayOf({ route, rerouted, restart, outcome, opens, branchFails }: SimulatedStep): string {
  if (opens !== undefined)
    return `→ ${opens.branches.length === 0 ? 'no branch' : opens.branches.join(', ')}: meet in ${opens.join}`;
  if (branchFails !== undefined) return `its branch fails: ${branchFails}`;
  if (rerouted !== undefined) return `→ ${rerouted}: a goal gate sends the run back`;
  if (route === undefined) return '';
  const { edge, how } = route;
  if (edge === undefined) return 'no edge takes this outcome';
  const why = {
    condition: edge.conditionText,
    label: `the label "${edge.label}" is the preferred one`,
    suggested: `the node suggested ${outcome.suggested.join(', ')}`,
    unconditional: 'unconditional',
    parallel: '',
    none: '',
  }[how];
  return `→ ${edge.to}: ${why}${restart === undefined ? '' : ` (restart ${restart})`}`;
}

const rejection = ({ to, condition, lost }: RouteCandidate): string =>
  `not ${to}: ${lost}${condition === '' ? '' : ` (${condition})`}`;
