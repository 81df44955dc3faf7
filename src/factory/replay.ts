/** A run made again from the exchanges that it recorded: free, offline, and only as far as the record goes. */
import { realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { readGraph } from '../dot/read.ts';
import type { Refusal } from '../engine/casting.ts';
import { lint } from '../lint/lint.ts';
import { present } from '../model/attribute.ts';
import type { Graph } from '../model/graph.ts';
import { layout } from '../model/layout.ts';
import type { Manifest, ReplayOf } from '../model/manifest.ts';
import { nearest } from '../model/nearest.ts';
import type { Point } from '../model/point.ts';
import { kindOf } from '../model/resolve.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { kinds } from '../nodes/index.ts';
import {
  bodiesOf,
  DamagedExchange,
  readBody,
  readExchanges,
  type StoredExchange,
} from '../store/exchanges.ts';
import { findMoment, type Moment, readSoFar } from '../store/moment.ts';
import { readManifest } from '../store/run-store.ts';
import type { Snapshots } from '../workspace/snapshot.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { forkRun, storedGraph } from './fork.ts';
import type { Doors, Finished, RunFlags } from './types.ts';
import { refused } from './types.ts';
import { changedIn } from './vouched.ts';

export type ReplayRequest = {
  /** The visit that is the first to be made again; undefined for the whole run. */
  readonly from?: Point | undefined;
  /** Prompts in place of the pipeline's, by node. */
  readonly prompts?: Readonly<Record<string, string>>;
  /** Run tools and checks for real. */
  readonly runTools?: boolean;
};

/** Makes the run in `runDir` again in a new directory, agents answered from its record. Refuses, with nothing left
 *  behind, what cannot be replayed; the other run is only read. */
export async function replayRun(
  runDir: string,
  request: ReplayRequest,
  where: { readonly runsDir: string; readonly runId: string },
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  const manifestRead = await readManifest(runDir);
  if (!manifestRead.ok) return refused('manifest', manifestRead.why);
  const { manifest } = manifestRead;
  const read = await readSoFar(runDir);
  if (!read.ok) return refused('run-files', read.why);
  const { records } = read;
  const changed = await changedIn(runDir);
  if (changed !== undefined) return changed;
  const moment = beginningOf(manifest, records, request.from);
  if ('problems' in moment) return moment;
  const whole = await recordsOf(runDir, manifest, records, moment.records.length);
  if (whole !== undefined) return whole;
  const stored = storedGraph(manifest);
  const graph = stored === undefined ? undefined : withPrompts(manifest, stored, request.prompts ?? {});
  if (graph !== undefined && 'problems' in graph) return graph;
  const dir = resolve(runDir);
  const recordedDir = dirname(manifest.workspace_path);
  return forkRun(dir, moment, undefined, where, flags, doors, {
    replayOf: {
      run_id: manifest.run_id,
      run_dir: recordedDir,
      aliases: [...new Set([dir, await realpath(dir)])].filter((name) => name !== recordedDir),
      ancestors: await ancestorsOf(manifest),
      live: flags.live === true,
      prompts: { ...request.prompts },
      ...(request.runTools === true ? { run_tools: true } : {}),
    },
    records,
    graph,
    isFork: request.from !== undefined,
  });
}

/** The runs that a run was made from: its records may have been theirs. */
async function ancestorsOf(manifest: Manifest): Promise<ReplayOf['ancestors']> {
  const found = new Map<string, Set<string>>();
  const add = (id: string, ...dirs: readonly string[]) =>
    found.set(id, new Set([...(found.get(id) ?? []), ...dirs]));
  const open = [manifest];
  for (let one = open.pop(); one !== undefined && found.size < mostAncestors; one = open.pop()) {
    const { forked_from: forked, replay_of: replayed } = one;
    for (const { run_id, dirs } of replayed?.ancestors ?? []) add(run_id, ...dirs);
    for (const { run_id, run_dir } of [forked, replayed].filter((link) => link !== undefined)) {
      const known = found.has(run_id);
      add(run_id, run_dir, ...(replayed?.run_id === run_id ? replayed.aliases : []));
      if (known) continue;
      const read = await readManifest(run_dir);
      // One that is gone or damaged ends the search; it is only about what texts may say.
      if (!read.ok) continue;
      add(run_id, dirname(read.manifest.workspace_path));
      open.push(read.manifest);
    }
  }
  return [...found].map(([run_id, dirs]) => ({ run_id, dirs: [...dirs] }));
}

const mostAncestors = 100;

/** Right before the first visit that is made again. */
export function beginningOf(
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
      `run ${manifest.run_id} has finished no visit of its own yet, so there is nothing to replay`,
      'wait until it has, or go on with it: factory resume',
    );
  return { ok: true, visit: first, before: true, snapshot: first.before, records: records.slice(0, count) };
}

/** Why the record of a run cannot be used from its record numbered `from` on, or undefined. Everything that it may be
 *  asked for is looked at before anything is made. */
async function recordsOf(
  runDir: string,
  manifest: Manifest,
  records: readonly RunRecord[],
  from: number,
): Promise<Refusal | undefined> {
  const read = await readExchanges(layout(runDir).exchanges);
  if (!read.ok) {
    const asked = records
      .slice(from)
      .find((record) => record.type === 'Visit' && record.node_type === 'codergen');
    if (!read.missing) return refused('replay-damaged', read.why);
    return asked === undefined
      ? undefined
      : refused(
          'replay-no-records',
          `run ${manifest.run_id} has no record of what its agents were asked and answered (there is no ${layout(runDir).exchanges}): an earlier version made it`,
          'run the pipeline once with this version; that run can be replayed',
        );
  }
  return damageIn(runDir, manifest.run_id, read.exchanges);
}

/** The first of these exchanges that is not whole any more: texts and files are held against their hashes. */
export async function damageIn(
  runDir: string,
  run: string,
  answers: readonly StoredExchange[],
): Promise<Refusal | undefined> {
  const at = layout(runDir);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots });
  for (const answer of answers) {
    const why = await damageOf(at.exchanges, snapshots, answer);
    const { node, call } = answer.exchange;
    if (why !== undefined)
      return refused(
        'replay-damaged',
        `the record of call ${call} of node "${node}" in run ${run} is damaged: ${why}`,
        'put back a copy of that file; nothing of it was used',
      );
  }
  return undefined;
}

async function damageOf(
  exchanges: string,
  snapshots: Snapshots,
  { exchange }: StoredExchange,
): Promise<string | undefined> {
  try {
    for (const body of bodiesOf(exchange)) await readBody(exchanges, body);
    const { files } = exchange;
    if (files === null || files.changes.length === 0) return undefined;
    await snapshots.load(files.after);
    for (const { sha256 } of files.changes)
      if (sha256 !== undefined) for await (const _ of snapshots.pieces(sha256));
    return undefined;
  } catch (error) {
    if (error instanceof DamagedExchange || error instanceof WorkspaceError) return error.message;
    throw error;
  }
}

/** The pipeline with prompts replaced by statements at its end; undefined where nothing is replaced. */
function withPrompts(
  manifest: Manifest,
  graph: Graph,
  prompts: Readonly<Record<string, string>>,
): Graph | Refusal | undefined {
  const wanted = Object.entries(prompts);
  if (wanted.length === 0) return undefined;
  for (const [id, text] of wanted) {
    const node = graph.nodes.get(id);
    const agents = [...graph.nodes.values()].filter((one) => kindOf(one, kinds)?.type === 'codergen');
    if (node === undefined || !agents.includes(node)) {
      const names = agents.map((one) => one.id);
      const meant = nearest(id, names);
      return refused(
        'usage',
        `--set prompt.${id}: ${node === undefined ? `the pipeline has no node "${id}"` : `node "${id}" has no prompt, no agent is asked there`}`,
        `${meant === undefined ? '' : `did you mean "${meant}"? `}agents are asked at: ${names.join(', ') || '(none)'}`,
      );
    }
    if (present(node.attrs, 'prompt_file') !== undefined)
      return refused(
        'usage',
        `--set prompt.${id}: the node's prompt is the workspace file that prompt_file names, which an earlier stage makes`,
        'change what makes that file: its template is a variable (--var) or another prompt',
      );
    if (text.trim() === '' || text.startsWith('@'))
      return refused(
        'usage',
        `--set prompt.${id}: ${text.startsWith('@') ? 'a prompt cannot begin with "@"' : 'the text is empty'}`,
        'for example --set prompt.plan=@new-plan.md',
      );
  }
  const statements = wanted.map(([id, text]) => `  ${id} [prompt="${quoted(text)}"]\n`).join('');
  const { text } = manifest.pipeline;
  // The last brace may stand in a comment; the one that ends the graph makes the text say what it shall.
  for (let at = text.lastIndexOf('}'); at > 0; at = text.lastIndexOf('}', at - 1)) {
    const changed = readGraph(graph.file, `${text.slice(0, at)}\n${statements}${text.slice(at)}`).graph;
    if (changed === undefined) continue;
    const says = wanted.every(
      ([id, prompt]) => present(changed.nodes.get(id)?.attrs ?? new Map(), 'prompt')?.value.text === prompt,
    );
    if (!says) continue;
    const errors = lint(changed, kinds, { toRun: true }).filter(({ severity }) => severity === 'error');
    return errors.length > 0 ? { problems: errors } : changed;
  }
  return refused(
    'usage',
    'the prompts cannot be put into the pipeline that the run keeps',
    'change the pipeline file, and fork: factory fork RUN --pipeline FILE',
  );
}

const quoted = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\r', '\\r');
