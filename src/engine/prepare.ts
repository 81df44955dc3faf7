/** A run's beginning: its folder is made whole under another name and renamed, so that it exists entirely or not. */
import { lstatSync, renameSync, statSync } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { RunState } from '../model/checkpoint.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Json } from '../model/json.ts';
import { inWorkspace, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Holdout, SealedFile } from '../model/sealed.ts';
import { isAtOrBelow } from '../policy/holdout.ts';
import { quoteWord } from '../policy/words.ts';
import { type Loaded, openLedger } from '../store/checkpoint.ts';
import { makeRunsDir } from '../store/run-store.ts';
import { dropKey, keyFileOf, keysFolder, mostSealedBytes, writeSealed } from '../store/sealed.ts';
import { stateAfter } from '../store/visits.ts';
import { diskTrouble } from '../system/disk-trouble.ts';
import { isCode, makeFolder, syncFolders, systemWords, writeFileAtomic, writeJson } from '../system/files.ts';
import { makingFolder } from '../system/live.ts';
import { settleTree } from '../system/settle.ts';
import type { HardLinks } from '../workspace/hard-links.ts';
import { placeSealed, takeOutSealed } from '../workspace/sealed.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { readForSealing } from '../workspace/to-seal.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { buildingName, removeAbandoned } from './building.ts';
import { secondName, type WantedHoldout } from './holdout.ts';
import type { Inputs } from './inputs.ts';
import { keptFiles, manifestHash } from './kept.ts';

/** What makes a history of commits for pipelines that build one. */
export interface Historian {
  /** Before the copy: refuses what cannot be built upon. `history` is the bare repository to make. */
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
  /** After the copy: what the run begins with, where no commit of the workdir says it. `sealed` paths are there for this
   *  while only. */
  recordBase(
    workspace: string,
    history: string,
    sealed: readonly string[],
  ): Promise<{ readonly problem: Diagnostic } | object>;
}

export type NewRun = {
  readonly runId: string;
  /** A word that no other process uses. */
  readonly unique: string;
  readonly runsDir: string;
  /** Absolute; undefined to begin with an empty tree. */
  readonly workdir: string | undefined;
  /** Absolute folders that are left out of the copy; the runs directory is anyway. */
  readonly exclude: readonly string[];
  readonly inputs: Inputs;
  /** Undefined where nothing is sealed. */
  readonly holdout: WantedHoldout | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Undefined for a pipeline that builds no history. */
  readonly historian: Historian | undefined;
  readonly goal: Json | undefined;
  readonly startNode: string;
  readonly startedAt: string;
  /** Fires: what was made until then goes. */
  readonly signal: AbortSignal;
  /** Files of the agent's that the run keeps, by name in `inputs/`. */
  readonly keep: Readonly<Record<string, string>>;
  readonly manifest: (facts: {
    readonly workspace: string;
    readonly workdirKind: Manifest['workdir_kind'];
    readonly git: Manifest['git'];
    readonly holdout: Holdout | undefined;
  }) => Manifest;
};

/** How a run stands that has just been made: what reading its manifest and its checkpoint would tell. */
export type Begun = { readonly manifest: Manifest; readonly read: Loaded };
export type Made = { readonly runDir: string; readonly notes: readonly string[]; readonly begun?: Begun };
type Filled = Omit<Made, 'runDir'>;
/** Why there is no run directory; with a code where the process shall end by another one than for wrong input. */
export type NotMade = { readonly problem: Diagnostic; readonly code?: number };

/** Makes the run directory. Nothing is left behind when it refuses or fails. */
export const makeRun = (wanted: NewRun): Promise<Made | NotMade> =>
  makeWhole(wanted, 'workdir', (building, final) => fill(wanted, building, final));

/** Makes a run directory by `fillIn`, which is given the folder to fill and the one that it will be; nothing is left
 *  behind when it refuses or fails. A WorkspaceError of its becomes a refusal with this code. */
export async function makeWhole(
  wanted: Pick<NewRun, 'runId' | 'unique' | 'runsDir' | 'signal' | 'startedAt' | 'env'>,
  code: 'workdir' | 'snapshots',
  fillIn: (building: string, final: string) => Promise<Filled | { problem: Diagnostic }>,
): Promise<Made | NotMade> {
  const final = join(wanted.runsDir, wanted.runId);
  // A folder of this process's own: two that want the same id must not fill one folder.
  const building = join(wanted.runsDir, buildingName(wanted.runId, wanted.unique));
  let first: string | undefined;
  try {
    first = makeFolder(wanted.runsDir);
  } catch (error) {
    return unwritable(wanted.runsDir, 'cannot be made', error);
  }
  const settling: (() => void)[] = [];
  const settled = () => {
    for (const settle of settling) settle();
  };
  const clear = async () => {
    await dropKey(building, wanted.env);
    await rm(building, { recursive: true, force: true });
    settled();
    if (first !== undefined) await removeEmpty(wanted.runsDir, first);
  };
  try {
    await makeRunsDir(wanted.runsDir);
    await removeAbandoned(wanted.runsDir, Date.parse(wanted.startedAt), wanted.env);
    const key = keyFileOf(building, wanted.env);
    for (const path of key === undefined ? [building] : [key, building]) settling.push(makingFolder(path));
    makeFolder(building);
    const made = await fillIn(building, final);
    if (wanted.signal.aborted) throw new Cut();
    if ('problem' in made) {
      await clear();
      return made;
    }
    // All at once, since nothing of it counts before it has its name; the workspace outlives a power cut in its snapshot,
    // whose large contents are flushed already.
    const { workspace, snapshots } = layout(building);
    await settleTree(building, [workspace, join(snapshots, 'large')]);
    if (!takeName(building, final)) {
      await clear();
      return {
        problem: {
          code: 'usage',
          severity: 'error',
          message: `there is a run "${wanted.runId}" in ${wanted.runsDir} already`,
          fix: `go on with it: factory resume ${quoteWord(final)}; or leave out --run-id for a new one`,
        },
      };
    }
    try {
      // A run in folders that are lost is lost.
      await syncFolders(wanted.runsDir, first === undefined ? wanted.runsDir : dirname(first));
    } catch (error) {
      await rm(final, { recursive: true, force: true });
      throw error;
    }
    settled();
    return { runDir: final, ...made };
  } catch (error) {
    await clear();
    if (error instanceof Cut) return { problem: cutShort(wanted.signal), code: 130 };
    const trouble = diskTrouble(error);
    if (trouble !== undefined && (trouble.path ?? building).startsWith(wanted.runsDir))
      return unwritable(wanted.runsDir, 'cannot be written to', trouble.error);
    if (error instanceof WorkspaceError) {
      return {
        problem: {
          code,
          severity: 'error',
          message: error.message,
          fix:
            code === 'snapshots'
              ? 'nothing was made; a moment that another snapshot holds can still be forked'
              : 'mend that in the workdir, or leave it out of the copy by naming it in .factoryignore',
        },
      };
    }
    if (trouble !== undefined || isCode(error, 'ENAMETOOLONG'))
      return unwritable(wanted.runsDir, 'cannot be written to', error);
    throw error;
  }
}

/** Thrown inside, when the signal fires. */
class Cut extends Error {}

const cutShort = ({ reason }: AbortSignal): Diagnostic => ({
  code: 'interrupted',
  severity: 'error',
  message: `interrupted by ${String(reason)} before the run began; nothing of it is left`,
  fix: 'the same command starts it again',
});

/** Gives the run its name; false when another one has it. A rename never replaces a folder that holds anything. */
function takeName(building: string, final: string): boolean {
  try {
    renameSync(building, final);
    return true;
  } catch (error) {
    if (isCode(error, 'ENOTEMPTY') || isCode(error, 'EEXIST')) return false;
    throw error;
  }
}

const unwritable = (runsDir: string, what: string, error: unknown): { readonly problem: Diagnostic } => ({
  problem: {
    code: 'runsdir',
    severity: 'error',
    message: `the folder for runs ${runsDir} ${what}: ${systemWords(error)}`,
    fix: 'name another folder with --runsdir',
  },
});

/** Takes back the folders that were made for a run that is refused, from the runs directory up to the first of them; a
 *  folder that holds anything else by now is another run's. */
async function removeEmpty(runsDir: string, first: string): Promise<void> {
  for (let at = runsDir; at.length >= first.length; at = dirname(at)) {
    const ours = at === dirname(runsDir) && basename(at) === '.factory';
    if (ours && (await readdir(at)).join() === '.gitignore')
      await rm(join(at, '.gitignore'), { force: true });
    const gone = await rmdir(at).then(
      () => true,
      () => false,
    );
    if (!gone) return;
  }
}

async function fill(
  wanted: NewRun,
  building: string,
  final: string,
): Promise<Filled | { problem: Diagnostic }> {
  const at = layout(building);
  const notes: string[] = [];
  let hardLinks: HardLinks = [];
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
      notes.push(`kept as a link, though it leads out of the workdir: ${path}`);
    const shown = copied.names?.leadingTo(wanted.holdout?.leaveOut ?? []);
    if (shown !== undefined) return { problem: secondName(shown) };
    hardLinks = copied.names?.several() ?? [];
  }
  const led = linkedFolder(at.workspace);
  if (led !== undefined) {
    return {
      problem: {
        code: 'workdir',
        severity: 'error',
        message: `${led} in the workdir is a link, and a run would write through it`,
        fix: 'make it a folder, or leave it out with a line in .factoryignore',
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
    // What the history begins with has the workdir's own scenarios as ever; of the workspace they are no part.
    if (wanted.holdout !== undefined) placeSealed(at.workspace, wanted.holdout.paths, own);
    const recorded = await wanted.historian?.recordBase(
      at.workspace,
      at.history,
      wanted.holdout?.paths ?? [],
    );
    if (recorded !== undefined && 'problem' in recorded) return recorded;
    // The history may begin with another commit than the copy had.
    if (wanted.holdout !== undefined) own = takeOutOwn(at.workspace, wanted.holdout.paths);
  }
  const sealed = wanted.holdout === undefined ? undefined : await seal(building, wanted.holdout, own);
  if (sealed !== undefined && 'problem' in sealed) return sealed;
  if (sealed !== undefined) {
    if (sealed.from !== 'workdir' && own.some(({ path }) => isFirst(path, sealed)))
      notes.push(
        `the workdir has a ${sealed.paths[0]} of its own, which is neither copied nor sealed: ${sealed.from} takes its place`,
      );
  }

  const snapshot = await snapshots.take(undefined, goOn);
  // Where the runs directory lies in somebody's package, its `type` must not reach the product's files.
  await writeJson(at.barrier, { private: true });
  const facts = wanted.manifest({
    workspace: layout(final).workspace,
    workdirKind: begun?.kind ?? (wanted.workdir === undefined ? 'none' : 'folder'),
    git: begun === undefined ? undefined : { base_commit: begun.baseCommit, author: begun.author },
    holdout: sealed,
  });
  const linked = hardLinks.length === 0 ? {} : { hard_links: hardLinks.map((names) => [...names]) };
  const manifest = { ...facts, ...linked, files: await keptFiles(building) };
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

/** What stands at the sealed paths of a workspace that is being made; it is gone from there. */
function takeOutOwn(workspace: string, paths: readonly string[]): SealedFile[] {
  const own = paths.flatMap((path) =>
    readForSealing(workspace, path, { as: path, leaveOut: () => false, most: mostSealedBytes }),
  );
  takeOutSealed(workspace, paths, [], undefined, () => true);
  return own;
}

const isFirst = (path: string, { paths: [first] }: { readonly paths: readonly string[] }): boolean =>
  first !== undefined && isAtOrBelow(path, first);

/** Seals what judges, and answers with what the manifest commits to. */
async function seal(
  building: string,
  { paths, from, given, env }: WantedHoldout,
  own: readonly SealedFile[],
): Promise<Holdout | { problem: Diagnostic }> {
  const files =
    given === undefined ? own : [...given, ...own.filter(({ path }) => !isFirst(path, { paths }))];
  const written = await writeSealed(building, files, env);
  return 'problem' in written ? written : { paths: [...paths], from, ...written };
}

/** The first of the engine's own folders that the workdir has as something else than a folder. */
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
