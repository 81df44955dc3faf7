/** `factory simulate`: the way of a run through a pipeline for given outcomes; nothing is executed. */
import { givenOutcomes } from '../app/given-outcomes.ts';
import { kindsOf } from '../app/kinds.ts';
import { pipelinePath } from '../app/pipelines.ts';
import { setupAhead } from '../app/project-setup.ts';
import { readPipeline } from '../app/read-pipeline.ts';
import { type SimulatedStep, type Simulation, simulate, unusedOutcomes } from '../app/simulate.ts';
import { countedItems } from '../core/amounts.ts';
import type { Graph, Node } from '../core/graph.ts';
import type { Outcome } from '../core/outcome.ts';
import { quoteWord } from '../core/policy/words.ts';
import type { RouteCandidate } from '../core/records/trace.ts';
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

const outcomeExample = 'for example --outcome check=fail,success';

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
    const at = given.indexOf('=');
    if (at < 1) return usage(`--outcome ${given} is not NODE=OUTCOME`, outcomeExample);
    const read = givenOutcomes(graph, given.slice(0, at), given.slice(at + 1));
    if ('why' in read)
      return usage(
        `--outcome ${given}: ${read.why}`,
        read.fix ?? `${outcomeExample}; factory simulate --help tells the forms`,
      );
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
  const ready = setupAhead(graph, io.cwd, io.env);
  if (ready !== undefined && 'problems' in ready) return ready;
  const before = simulation.steps.find(({ node }) => waitsForSetup(graph, node));
  const setup = ready && before && { ...ready, before: before.node.id };
  const ok = simulation.ending?.ok === true;
  if (options.json === true) io.out(`${JSON.stringify(record(pipeline, simulation, setup), null, 2)}\n`);
  else print({ ...simulation, setup }, outcomes, painter(paints(io, io.outIsTerminal, options.color)), io);
  return ok ? 0 : 1;
}

/** The setup commands of the run, and the node that they precede. */
type Ahead =
  | { readonly path: string; readonly commands: readonly string[]; readonly before: string }
  | undefined;

const waitsForSetup = (graph: Graph, { type, settings }: Node): boolean =>
  settings.needs_setup && kindsOf(graph).some((kind) => kind.type === type && kind.executable);

const record = (pipeline: string, { steps, ending }: Simulation, setup: Ahead) => ({
  schema_version: 1,
  pipeline,
  ...(setup && { setup: { path: setup.path, commands: setup.commands, before: setup.before } }),
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
  simulation: Simulation & { readonly setup: Ahead },
  outcomes: ReadonlyMap<string, readonly Outcome[]>,
  paint: Paint,
  io: Io,
): void {
  const { steps, ending, setup } = simulation;
  if (setup !== undefined)
    io.out(
      `${paint.dim(`setup before ${setup.before}, and again when a lock file has changed: ${setup.commands.join('; ')} (${setup.path})`)}\n`,
    );
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
