/** Fills the directory of a new run. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Diagnostic } from '../../core/diagnostic.ts';
import type { Json } from '../../core/json.ts';
import { isAtOrBelow } from '../../core/policy/holdout-paths.ts';
import { inWorkspace, type Layout, layout } from '../../core/records/layout.ts';
import type { Holdout, Manifest, SealedFile } from '../../core/records/manifest.ts';
import { type ChosenHoldout, copyNotes, readForSealing } from '../../holdout/seal.ts';
import { placeSealed, takeOutSealed } from '../../holdout/sealed-files.ts';
import { keysFolder, mostSealedBytes, writeSealed } from '../../holdout/vault.ts';
import { makeFolder, writeFileAtomic, writeJson } from '../../platform/files/write.ts';
import { immutableFiles, manifestHash } from '../../run/inputs.ts';
import { startJournal } from '../../run/run-journal.ts';
import { noteOf } from '../../workspace/own-place.ts';
import type { Snapshots } from '../../workspace/snapshot.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import type { Inputs } from '../inputs.ts';
import {
  type CreatedRun,
  createAtomically,
  type FilledRun,
  InterruptedCreation,
  type NotCreated,
  type RunDirectoryRequest,
} from './run-directory.ts';

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
  readonly holdout: ChosenHoldout | undefined;
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
export const createRun = (wanted: NewRun): Promise<CreatedRun | NotCreated> =>
  createAtomically(wanted, 'workdir', (building, final) => fill(wanted, building, final));

async function fill(
  wanted: NewRun,
  building: string,
  final: string,
): Promise<FilledRun | { problem: Diagnostic }> {
  const at = layout(building);
  const begun = await wanted.historian?.begin(wanted.workdir, at.history);
  if (begun !== undefined && 'problem' in begun) return begun;
  const notes: string[] = [...(begun?.notes ?? [])];
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: false });
  const goOn = (): void => {
    if (wanted.signal.aborted) throw new InterruptedCreation();
  };
  notes.push(...(await copyWorkdir(wanted, snapshots, at.workspace, goOn)));
  const led = linkedFolder(at.workspace);
  if (led !== undefined) return { problem: linkProblem(led) };
  await writeInputs(wanted, at);
  const sealed = await sealHoldout(wanted, at, begun !== undefined);
  if ('problem' in sealed) return sealed;
  notes.push(...sealed.notes);
  const snapshot = await snapshots.take(undefined, goOn);
  notes.push(...copyNotes(snapshot.tree, sealed.files));
  // If the runs directory lies inside a package, that package's `type` must not apply to the product's files.
  await writeJson(at.barrier, { private: true });
  const facts = wanted.manifest({
    workspace: layout(final).workspace,
    workdirKind: begun?.kind ?? (wanted.workdir === undefined ? 'none' : 'folder'),
    git: begun === undefined ? undefined : { base_commit: begun.baseCommit, author: begun.author },
    holdout: sealed.holdout,
  });
  const manifest = { ...facts, files: await immutableFiles(building) };
  await writeJson(at.manifest, manifest);
  const history = await startJournal(building, wanted.runId, {
    type: 'Start',
    at: wanted.startedAt,
    next_node: wanted.startNode,
    context: wanted.goal === undefined ? {} : { 'graph.goal': wanted.goal },
    origins: wanted.goal === undefined ? {} : { 'graph.goal': 'engine' },
    snapshot: snapshot.id,
    manifest_sha256: manifestHash(manifest),
  });
  return { notes, made: { stands: { manifest, history }, taken: { snapshots, snapshot } } };
}

/** Fills the workspace; answers with notes on what is not copied unchanged. */
async function copyWorkdir(
  { workdir, runsDir, exclude, holdout, env }: NewRun,
  snapshots: Snapshots,
  workspace: string,
  goOn: () => void,
): Promise<readonly string[]> {
  if (workdir === undefined) {
    makeFolder(workspace);
    return [];
  }
  const keys = keysFolder(env);
  const left = [runsDir, ...exclude, ...(holdout?.leaveOut ?? []), ...(keys === undefined ? [] : [keys])];
  const copied = await snapshots.copyIn(workdir, { exclude: left, goOn });
  return [
    ...copied.skipped.map(({ path, why }) => `not copied: ${path} (${why})`),
    ...copied.outsideLinks.map((path) => `copied as a link, which leads out of the workdir: ${path}`),
    ...noteOf(copied.namingPlace ?? [], workdir),
  ];
}

const linkProblem = (path: string): Diagnostic => ({
  code: 'workdir',
  severity: 'error',
  message: `${path} in the workdir is a link, and a run would write through it`,
  fix: 'make it a folder, or exclude it with a line in .factoryignore',
});

async function writeInputs({ inputs, keep }: NewRun, at: Layout): Promise<void> {
  for (const [name, variable] of Object.entries(inputs.variables)) {
    const text = inputs.files[name];
    if (variable.file === undefined || text === undefined) continue;
    await writeFileAtomic(join(at.inputs, variable.file.stored), text);
    await writeFileAtomic(join(at.workspace, inWorkspace.inputs, variable.file.stored), text);
  }
  for (const [name, text] of Object.entries(keep)) await writeFileAtomic(join(at.inputs, name), text);
}

/** Makes the first commit of a run with history, and seals the holdout. `files` are those that were sealed. */
async function sealHoldout({ historian, holdout }: NewRun, at: Layout, hasHistory: boolean) {
  let { own = [] } = holdout ?? {};
  if (hasHistory) {
    // The first commit contains the workdir's scenarios; the workspace does not.
    if (holdout !== undefined) placeSealed(at.workspace, holdout.paths, own);
    const recorded = await historian?.recordBase(at.workspace, at.history, holdout?.paths ?? []);
    if (recorded !== undefined && 'problem' in recorded) return recorded;
    // The history may have checked out another commit than the copy.
    if (holdout !== undefined) own = takeOutOwn(at.workspace, holdout.paths);
  }
  if (holdout === undefined) return { files: [], notes: [], holdout: undefined };
  const files = toSeal(holdout, own);
  const sealed = await seal(at.root, holdout, files);
  if ('problem' in sealed) return sealed;
  const replaced = sealed.from !== 'workdir' && own.some(({ path }) => isFirst(path, sealed));
  const note = `the workdir's ${sealed.paths[0]} is neither copied nor sealed: ${sealed.from} replaces it`;
  return { files, notes: replaced ? [note] : [], holdout: sealed };
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

const toSeal = ({ paths, given }: ChosenHoldout, own: readonly SealedFile[]): readonly SealedFile[] =>
  given === undefined ? own : [...given, ...own.filter(({ path }) => !isFirst(path, { paths }))];

/** Seals the holdout files; returns their description for the manifest. */
async function seal(
  building: string,
  { paths, from, env }: ChosenHoldout,
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
