/** `factory compare`: two runs side by side. Both are only read. */
import type { Environment } from '../../core/contracts/process.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import { masker } from '../../core/policy/mask.ts';
import { textsToMask } from '../../core/policy/secrets.ts';
import { layout } from '../../core/records/layout.ts';
import type { VisitRecord } from '../../core/records/visit.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import type { Entry, Snapshot } from '../../workspace/snapshot.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import { fileChanges, findMoments, loadSides, type PathChange } from '../changes.ts';
import { nodeTotalsOf } from '../inspect/nodes.ts';
import { type InspectedRun, readForViews } from '../inspect/read-run.ts';
import type { InspectHost } from '../inspect/rows.ts';
import { differentInputs } from './inputs.ts';
import { finishedIn, type OtherChanges, partingLine, partingOf } from './parting.ts';
import type { NodeFigures, RunComparison } from './shape.ts';

/** Files in the list of those that the runs have changed. */
const mostFiles = 1000;
/** Paths that an execution has changed otherwise. */
const mostPaths = 20;

/** The runs in the two directories, or why one of them cannot be read. */
export async function compareRunsIn(
  dirs: readonly [string, string],
  host: InspectHost & { readonly env: Environment },
): Promise<RunComparison | Refusal> {
  const mask = masker(textsToMask(host.env));
  const a = await readForViews(dirs[0], host);
  if ('problems' in a) return a;
  const b = await readForViews(dirs[1], host);
  if ('problems' in b) return b;
  const { same, parting: at } = await partingOf(a, b, otherChanges(a, b));
  // Variables and settings are kept as they were given.
  const parting = at && { ...at, differs: at.differs.map((one) => maskedInBoth(one, mask)) };
  const files = await changedFiles(a, b);
  const otherFiles = await filesAtBeginning(a, b);
  const sides = { a: sideOf(a), b: sideOf(b) };
  return {
    schema_version: 1,
    ...sides,
    line: partingLine({ ...sides, same, parting, otherFiles: otherFiles.length > 0 }),
    ...{ same, parting },
    inputs: [...differentInputs(a, b), ...otherFiles].map((one) => maskedInBoth(one, mask)),
    nodes: nodesOf(a, b),
    files: files?.slice(0, mostFiles) ?? null,
    files_left_out: Math.max(0, (files?.length ?? 0) - mostFiles),
  };
}

const maskedInBoth = <T extends { readonly a: string | null; readonly b: string | null }>(
  one: T,
  mask: (text: string) => string,
): T => ({ ...one, a: one.a && mask(one.a), b: one.b && mask(one.b) });

function sideOf({ row, manifest, executions }: InspectedRun): RunComparison['a'] {
  const { run_id, title, pipeline, status, headline, started_at, elapsed_ms } = row;
  const { spent, forked_from, replay_of, run_dir } = row;
  return {
    ...{ run_id, title, pipeline, status, headline, started_at, elapsed_ms },
    ...{ spent, forked_from, replay_of, run_dir },
    agent: manifest.agent.describe || 'none',
    executions: executions.length,
  };
}

/** The nodes of the first run in their order, then those that only the second one has executed. */
function nodesOf(a: InspectedRun, b: InspectedRun): RunComparison['nodes'] {
  const figures = (run: InspectedRun): ReadonlyMap<string, NodeFigures> =>
    new Map(
      nodeTotalsOf(run.executions, run).map((row) => [
        row.node,
        {
          ...{ executions: row.visits, state: row.outcome, class: row.failure_class, took_ms: row.took_ms },
          cost_usd: row.spent.unknown_cost > 0 ? null : row.spent.cost_usd,
        },
      ]),
    );
  const [ofA, ofB] = [figures(a), figures(b)];
  return [...new Set([...ofA.keys(), ...ofB.keys()])].map((node) => ({
    node,
    a: ofA.get(node) ?? null,
    b: ofB.get(node) ?? null,
  }));
}

/** The files that either run has changed, those that differ first; undefined if a snapshot cannot be read. */
async function changedFiles(
  a: InspectedRun,
  b: InspectedRun,
): Promise<readonly NonNullable<RunComparison['files']>[number][] | undefined> {
  try {
    const [ofA, ofB] = [await sidesOf(a), await sidesOf(b)];
    if (ofA === undefined || ofB === undefined) return undefined;
    const rows = [...new Set([...ofA.changes.keys(), ...ofB.changes.keys()])].map((path) => ({
      path,
      a: ofA.changes.get(path)?.what ?? null,
      b: ofB.changes.get(path)?.what ?? null,
      same: isSame(ofA.end.tree.get(path), ofB.end.tree.get(path)),
    }));
    return rows.sort((x, y) => Number(x.same) - Number(y.same) || (x.path < y.path ? -1 : 1));
  } catch (error) {
    if (error instanceof WorkspaceError) return undefined;
    throw error;
  }
}

async function sidesOf({ dir, history }: InspectedRun) {
  const moments = findMoments(history, {});
  if ('problems' in moments) return undefined;
  const { sides } = await loadSides(dir, moments);
  return { end: sides.after, changes: new Map(fileChanges(sides).map((one) => [one.path, one])) };
}

const isSame = (a: Entry | undefined, b: Entry | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : a.kind === b.kind && a.mode === b.mode && a.hash === b.hash && a.target === b.target;

/** The paths that an execution has changed in either run, and that are not the same after it. */
const otherChanges =
  (a: InspectedRun, b: InspectedRun): OtherChanges =>
  async (was, is) => {
    try {
      const [ofA, ofB] = [await changesIn(a, was), await changesIn(b, is)];
      const paths = [...new Set([...ofA.changes.keys(), ...ofB.changes.keys()])].sort();
      return paths
        .filter((path) => !isSame(ofA.after.tree.get(path), ofB.after.tree.get(path)))
        .slice(0, mostPaths)
        .map((name) => ({
          name,
          a: ofA.changes.get(name)?.what ?? null,
          b: ofB.changes.get(name)?.what ?? null,
        }));
    } catch (error) {
      if (error instanceof WorkspaceError) return [];
      throw error;
    }
  };

/** The files of the product that differ before the first execution: the workdir may have changed between the runs. */
async function filesAtBeginning(a: InspectedRun, b: InspectedRun): Promise<RunComparison['inputs']> {
  const [was, is] = [finishedIn(a)[0]?.before, finishedIn(b)[0]?.before];
  if (was === undefined || is === undefined || was === is) return [];
  try {
    const sides = { before: await snapshotOf(a, was), after: await snapshotOf(b, is) };
    return fileChanges(sides)
      .slice(0, mostPaths)
      .map(({ path, before, after }) => ({
        name: `file ${path}`,
        a: entryWords(before),
        b: entryWords(after),
      }));
  } catch (error) {
    if (error instanceof WorkspaceError) return [];
    throw error;
  }
}

const entryWords = (entry: Entry | undefined): string | null =>
  entry === undefined
    ? null
    : `${entry.target ?? entry.hash?.slice(0, 8) ?? entry.kind} (mode ${entry.mode.toString(8)})`;

async function snapshotOf({ dir }: InspectedRun, name: string): Promise<Snapshot> {
  const { workspace, contents } = layout(dir);
  return (await openSnapshots({ workspace, dir: contents })).load(name);
}

async function changesIn(
  run: InspectedRun,
  visit: VisitRecord,
): Promise<{ readonly after: Snapshot; readonly changes: ReadonlyMap<string, PathChange> }> {
  const sides = { before: await snapshotOf(run, visit.before), after: await snapshotOf(run, visit.after) };
  return { after: sides.after, changes: new Map(fileChanges(sides).map((one) => [one.path, one])) };
}
