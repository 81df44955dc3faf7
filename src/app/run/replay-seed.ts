/** The seed of a replay: the pipeline of a run runs again in a new directory, with nodes answered from its record. */
import { dirname, resolve } from 'node:path';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import { type Graph, graphWith, nodeOf, ownKindsIn } from '../../core/graph.ts';
import { nearest } from '../../core/nearest.ts';
import { agentNodes } from '../../core/pipeline.ts';
import type { Exchange } from '../../core/records/exchange.ts';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { Point } from '../../core/records/names.ts';
import type { RunRecord } from '../../core/records/visit.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { answersOf } from '../../run/answers.ts';
import { bodiesIn, bodiesOf } from '../../run/exchanges.ts';
import { findMoment, type Moment } from '../../run/moment.ts';
import { openRun } from '../../run/open-run.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import { typesOfRun } from '../own-kinds.ts';
import { checkPipeline, storedGraphInPlace, withStoredCalls } from '../read-pipeline.ts';
import type { Host, RunFlags } from '../types.ts';
import type { RunSeed } from './create.ts';
import { runSeed } from './run-seed.ts';
import { changedIn } from './run-state.ts';
import { withStatements } from './set-attributes.ts';

export type ReplayRequest = {
  /** The first execution to replay; undefined for the whole run. */
  readonly from?: Point | undefined;
  /** Prompts in place of those of the pipeline, by node. */
  readonly prompts?: Readonly<Record<string, string>>;
  /** Run tools and verifications though the record has them. */
  readonly runTools?: boolean;
};

/** The run in `runDir` up to where it is replayed, with the answers of its record; it is only read. */
export async function replaySeed(
  runDir: string,
  request: ReplayRequest,
  flags: RunFlags,
  host: Host,
): Promise<RunSeed | Refusal> {
  const dir = resolve(runDir);
  const record = await readRecordedRun(dir);
  if ('problems' in record) return record;
  const { manifest, records } = record;
  const moment = replayedFrom(manifest, records, request.from);
  if ('problems' in moment) return moment;
  const types = await typesOfRun(manifest, host, true);
  if ('problems' in types) return types;
  const stored = storedGraphInPlace(manifest, types.own);
  const graph = stored === undefined ? undefined : withPrompts(manifest, stored, request.prompts ?? {});
  if (graph !== undefined && 'problems' in graph) return graph;
  const { forked_from: from } = manifest;
  const answers = {
    replayOf: {
      run_id: manifest.run_id,
      run_dir: dirname(manifest.workspace_path),
      ...(from === undefined ? {} : { forked_from: { run_id: from.run_id, run_dir: from.run_dir } }),
      live: flags.live === true,
      prompts: { ...request.prompts },
      ...(request.runTools === true ? { run_tools: true } : {}),
    },
    graph,
    isFork: request.from !== undefined,
  };
  return runSeed(dir, moment, undefined, flags, host, { answers });
}

/** The checkpoint right before the first execution to replay. */
function replayedFrom(
  manifest: Manifest,
  records: readonly RunRecord[],
  from: Point | undefined,
): Moment | Refusal {
  if (from !== undefined) {
    const moment = findMoment(records, from, true);
    return moment.ok ? moment : refused('no-visit', `run ${manifest.run_id}: ${moment.why}`, moment.fix);
  }
  const count = manifest.forked_from?.seq ?? 1;
  const first = records[count];
  if (first?.type !== 'Visit')
    return refused(
      'replay-empty',
      `run ${manifest.run_id} has not finished an execution yet, so there is nothing to replay`,
      'wait until it has, or continue it: factory resume',
    );
  return { ok: true, visit: first, before: true, snapshot: first.before, records: records.slice(0, count) };
}

/** The record of a run, every part of it checked against its hash; or what of it is missing or damaged. */
export async function readRecordedRun(runDir: string): Promise<
  | {
      readonly manifest: Manifest;
      readonly records: readonly RunRecord[];
      readonly exchanges: readonly Exchange[];
    }
  | Refusal
> {
  const recorded = await openRun(runDir).stored();
  if ('problems' in recorded) return recorded;
  const { manifest, history } = recorded;
  const { records, exchanges } = history;
  const changed = await changedIn(runDir, manifest);
  if (changed !== undefined) return changed;
  // A power cut may take texts of an execution that was not committed.
  const counted = [...answersOf(records, exchanges).values()];
  return (await damageIn(runDir, manifest.run_id, counted)) ?? { manifest, records, exchanges: counted };
}

/** Whether texts and files of exchanges are damaged. */
async function damageIn(
  runDir: string,
  run: string,
  exchanges: readonly Exchange[],
): Promise<Refusal | undefined> {
  const at = layout(runDir);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents });
  const body = bodiesIn(runDir);
  for (const exchange of exchanges)
    try {
      for (const named of bodiesOf(exchange)) body(named);
      const { after, changes = [] } = exchange.files ?? {};
      if (after !== undefined && changes.length > 0) await snapshots.load(after);
      for (const { sha256 } of changes) if (sha256 !== undefined) await drain(snapshots.pieces(sha256));
    } catch (error) {
      if (!(error instanceof WorkspaceError)) throw error;
      return refused(
        'replay-damaged',
        `the record of call ${exchange.call} of node "${exchange.node}" in run ${run} is damaged: ${error.message}`,
        'restore that file from a copy; nothing was replayed',
      );
    }
  return undefined;
}

/** Reads a content to its end, which checks its hash. */
async function drain(pieces: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of pieces);
}

/** The pipeline with prompts replaced by statements at its end; undefined where none is replaced. */
function withPrompts(
  manifest: Manifest,
  graph: Graph,
  prompts: Readonly<Record<string, string>>,
): Graph | Refusal | undefined {
  const entries = Object.entries(prompts);
  if (entries.length === 0) return undefined;
  for (const [id, text] of entries) {
    const problem = promptProblem(graph, id, text);
    if (problem !== undefined) return refused('usage', `--set prompt.${id}: ${problem.what}`, problem.fix);
  }
  const statements = entries.map(([id, text]) => [id, 'prompt', text] as const);
  const whole = withStatements(manifest.pipeline.text, statements, 'factory replay --set');
  const { graph: own, found, counts } = checkPipeline(graph.file, whole, { own: ownKindsIn(graph) });
  const changed = own && withStoredCalls(own, manifest, ownKindsIn(graph));
  if (own === undefined && counts !== undefined)
    return { problems: found.filter(({ severity }) => severity === 'error') };
  if (entries.every(([id, prompt]) => changed?.nodes.get(id)?.settings.prompt === prompt)) return changed;
  return refused(
    'usage',
    'the prompts cannot be inserted into the pipeline that the run keeps',
    'change the pipeline file, and fork: factory fork RUN --pipeline FILE',
  );
}

/** Why a node cannot get this prompt. */
function promptProblem(
  graph: Graph,
  id: string,
  text: string,
): { readonly what: string; readonly fix: string } | undefined {
  const inCall = !graph.nodes.has(id) && nodeOf(graph, id) !== undefined;
  if (inCall)
    return {
      what: `the node is in ${graphWith(graph, id).file}, which "${id.replace(/\.[^.]*$/, '')}" calls`,
      fix: 'change its prompt there, and fork: factory fork RUN --pipeline FILE',
    };
  const agents = agentNodes(graph);
  const names = agents.map((one) => one.id);
  const node = agents.find((one) => one.id === id);
  if (node === undefined) {
    const meant = nearest(id, names);
    return {
      what: graph.nodes.has(id) ? `node "${id}" is not an agent node` : `the pipeline has no node "${id}"`,
      fix: `${meant === undefined ? '' : `did you mean "${meant}"? `}agent nodes: ${names.join(', ') || '(none)'}`,
    };
  }
  if (node.settings.prompt_file !== undefined)
    return {
      what: 'the prompt of the node is the workspace file that prompt_file names, which an earlier node writes',
      fix: 'change what writes that file: a variable (--var) or another prompt',
    };
  const fix = 'for example --set prompt.plan=@new-plan.md';
  if (text.startsWith('@')) return { what: 'a prompt cannot begin with "@"', fix };
  return text.trim() === '' ? { what: 'the text is empty', fix } : undefined;
}
