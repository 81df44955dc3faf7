/** Fills the directory of a new run. */
import { lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RunState } from '../model/checkpoint.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Json } from '../model/json.ts';
import { inWorkspace, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Holdout, SealedFile } from '../model/sealed.ts';
import { isAtOrBelow } from '../policy/holdout.ts';
import { type Loaded, openLedger } from '../store/checkpoint.ts';
import { keysFolder, mostSealedBytes, writeSealed } from '../store/sealed.ts';
import { stateAfter } from '../store/visits.ts';
import { makeFolder, writeFileAtomic, writeJson } from '../system/files.ts';
import { noteOf } from '../workspace/own-place.ts';
import { placeSealed, takeOutSealed } from '../workspace/sealed.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { readForSealing } from '../workspace/to-seal.ts';
import {
  Cut,
  type Filled,
  type Made,
  makeWhole,
  type NotMade,
  type RunDirectoryRequest,
} from './building.ts';
import { copyNotes, type WantedHoldout } from './holdout.ts';
import type { Inputs } from './inputs.ts';
import { keptFiles, manifestHash } from './kept.ts';

/** Creates the git history of pipelines that make commits. */
export interface Historian {
  /** Before the copy: refuses a workdir that cannot be built upon. `history` is the bare repository to create. */
  begin(
    workdir: string | undefined,
    history: string,
  ): Promise<
    | {
        readonly kind: 'none' | 'folder' | 'git';
        readonly baseCommit: string | null;
        readonly author: { readonly name: string; readonly email: string };
        readonly notes: readonly string[];
      }
    | { readonly problem: Diagnostic }
  >;
  /** After the copy: commits the state that the run starts with, if no commit of the workdir has it. The holdout files at
   *  `sealed` are in the workspace only during this call. */
  recordBase(
    workspace: string,
    history: string,
    sealed: readonly string[],
  ): Promise<{ readonly problem: Diagnostic } | object>;
}

export type NewRun = RunDirectoryRequest & {
  /** Absolute; undefined to start with an empty tree. */
  readonly workdir: string | undefined;
  /** Absolute folders to leave out of the copy, in addition to the runs directory. */
  readonly exclude: readonly string[];
  readonly inputs: Inputs;
  readonly holdout: WantedHoldout | undefined;
  /** Undefined for a pipeline that builds no history. */
  readonly historian: Historian | undefined;
  readonly goal: Json | undefined;
  readonly startNode: string;
  /** Files of the agent, by name in `inputs/`. */
  readonly keep: Readonly<Record<string, string>>;
  readonly manifest: (facts: {
    readonly workspace: string;
    readonly workdirKind: Manifest['workdir_kind'];
    readonly git: Manifest['git'];
    readonly holdout: Holdout | undefined;
  }) => Manifest;
};

/** Creates the run directory. Nothing is left behind when it refuses or fails. */
export const makeRun = (wanted: NewRun): Promise<Made | NotMade> =>
  makeWhole(wanted, 'workdir', (building, final) => fill(wanted, building, final));

async function fill(
  wanted: NewRun,
  building: string,
  final: string,
): Promise<Filled | { problem: Diagnostic }> {
  const at = layout(building);
  const notes: string[] = [];
  const keys = keysFolder(wanted.env);
  const begun = await wanted.historian?.begin(wanted.workdir, at.history);
  if (begun !== undefined && 'problem' in begun) return begun;
  if (begun !== undefined) notes.push(...begun.notes);

  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots, sync: false });
  const goOn = (): void => {
    if (wanted.signal.aborted) throw new Cut();
  };
  if (wanted.workdir === undefined) {
    makeFolder(at.workspace);
  } else {
    const copied = await snapshots.copyIn(wanted.workdir, {
      exclude: [
        wanted.runsDir,
        ...wanted.exclude,
        ...(wanted.holdout?.leaveOut ?? []),
        ...(keys === undefined ? [] : [keys]),
      ],
      goOn,
    });
    for (const { path, why } of copied.skipped) notes.push(`not copied: ${path} (${why})`);
    for (const path of copied.outsideLinks)
      notes.push(`copied as a link, which leads out of the workdir: ${path}`);
    notes.push(...noteOf(copied.namingPlace ?? [], wanted.workdir));
  }
  const led = linkedFolder(at.workspace);
  if (led !== undefined) {
    return {
      problem: {
        code: 'workdir',
        severity: 'error',
        message: `${led} in the workdir is a link, and a run would write through it`,
        fix: 'make it a folder, or exclude it with a line in .factoryignore',
      },
    };
  }
  for (const [name, variable] of Object.entries(wanted.inputs.variables)) {
    const text = wanted.inputs.files[name];
    if (variable.file === undefined || text === undefined) continue;
    await writeFileAtomic(join(at.inputs, variable.file.stored), text);
    await writeFileAtomic(join(at.workspace, inWorkspace.inputs, variable.file.stored), text);
  }
  for (const [name, text] of Object.entries(wanted.keep)) await writeFileAtomic(join(at.inputs, name), text);
  let { own = [] } = wanted.holdout ?? {};
  if (begun !== undefined) {
    // The first commit contains the workdir's scenarios; the workspace does not.
    if (wanted.holdout !== undefined) placeSealed(at.workspace, wanted.holdout.paths, own);
    const recorded = await wanted.historian?.recordBase(
      at.workspace,
      at.history,
      wanted.holdout?.paths ?? [],
    );
    if (recorded !== undefined && 'problem' in recorded) return recorded;
    // The history may have checked out another commit than the copy.
    if (wanted.holdout !== undefined) own = takeOutOwn(at.workspace, wanted.holdout.paths);
  }
  const files = wanted.holdout === undefined ? [] : toSeal(wanted.holdout, own);
  const sealed = wanted.holdout === undefined ? undefined : await seal(building, wanted.holdout, files);
  if (sealed !== undefined && 'problem' in sealed) return sealed;
  if (sealed !== undefined) {
    if (sealed.from !== 'workdir' && own.some(({ path }) => isFirst(path, sealed)))
      notes.push(`the workdir's ${sealed.paths[0]} is neither copied nor sealed: ${sealed.from} replaces it`);
  }

  const snapshot = await snapshots.take(undefined, goOn);
  notes.push(...copyNotes(snapshot.tree, files));
  // If the runs directory lies inside a package, that package's `type` must not apply to the product's files.
  await writeJson(at.barrier, { private: true });
  const facts = wanted.manifest({
    workspace: layout(final).workspace,
    workdirKind: begun?.kind ?? (wanted.workdir === undefined ? 'none' : 'folder'),
    git: begun === undefined ? undefined : { base_commit: begun.baseCommit, author: begun.author },
    holdout: sealed,
  });
  const manifest = { ...facts, files: await keptFiles(building) };
  await writeJson(at.manifest, manifest);
  const state = firstState(wanted, snapshot.id);
  const start = {
    schema_version: 1,
    type: 'Start',
    at: wanted.startedAt,
    next_node: wanted.startNode,
    context: state.context,
    origins: state.origins,
    snapshot: snapshot.id,
  } as const;
  const ledger = await openLedger(building, { runId: wanted.runId, epoch: state.epoch, sync: false });
  try {
    await ledger.save(state, start, { manifest_sha256: manifestHash(manifest), journals: {} });
  } finally {
    await ledger.close();
  }
  const { run_id, epoch } = state;
  const first = stateAfter([{ ...start, run_id, epoch, seq: 1 }]);
  const visits = { seq: 1, end: statSync(at.visits).size };
  const read: Loaded = { ok: true, checkpoint: { ...first, ...state }, visits, vouched: { visits_seq: 1 } };
  return { notes, begun: { manifest, read } };
}

/** Removes the files at the holdout paths of a new workspace, and returns them. */
function takeOutOwn(workspace: string, paths: readonly string[]): SealedFile[] {
  const own = paths.flatMap((path) =>
    readForSealing(workspace, path, { as: path, leaveOut: () => false, most: mostSealedBytes }),
  );
  takeOutSealed(workspace, paths, [], undefined, () => true);
  return own;
}

const isFirst = (path: string, { paths: [first] }: { readonly paths: readonly string[] }): boolean =>
  first !== undefined && isAtOrBelow(path, first);

const toSeal = ({ paths, given }: WantedHoldout, own: readonly SealedFile[]): readonly SealedFile[] =>
  given === undefined ? own : [...given, ...own.filter(({ path }) => !isFirst(path, { paths }))];

/** Seals the holdout files; returns their description for the manifest. */
async function seal(
  building: string,
  { paths, from, env }: WantedHoldout,
  files: readonly SealedFile[],
): Promise<Holdout | { problem: Diagnostic }> {
  const written = await writeSealed(building, files, env);
  return 'problem' in written ? written : { paths: [...paths], from, ...written };
}

/** The first of the engine's folders that the workdir has as something other than a folder. */
function linkedFolder(workspace: string): string | undefined {
  for (const name of [inWorkspace.factory, inWorkspace.inputs]) {
    const is = lstatSync(join(workspace, name), { throwIfNoEntry: false });
    if (is !== undefined && !is.isDirectory()) return name;
  }
  return undefined;
}

function firstState(wanted: NewRun, snapshot: string): RunState {
  return {
    schema_version: 1,
    run_id: wanted.runId,
    epoch: 1,
    last_completed_node: '',
    retry_counts: {},
    context: wanted.goal === undefined ? {} : { 'graph.goal': wanted.goal },
    origins: wanted.goal === undefined ? {} : { 'graph.goal': 'engine' },
    next_node: wanted.startNode,
    arrived: null,
    steps: 0,
    visits: {},
    calls: {},
    outcomes: {},
    last_outcome: null,
    last_failure: null,
    snapshot,
    elapsed_ms: 0,
    status: 'running',
    ended: null,
    at: wanted.startedAt,
  };
}
