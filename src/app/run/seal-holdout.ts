/** The holdout of a run that begins with a workdir: taken out of the workspace, and sealed. */
import { relative } from 'node:path';
import type { Diagnostic } from '../../core/diagnostic.ts';
import { hasHistory } from '../../core/pipeline.ts';
import { isAtOrBelow } from '../../core/policy/holdout-paths.ts';
import type { Layout } from '../../core/records/layout.ts';
import type { Holdout, SealedFile } from '../../core/records/manifest.ts';
import { type ChosenHoldout, readForSealing } from '../../holdout/seal.ts';
import { placeSealed, takeOutSealed } from '../../holdout/sealed-files.ts';
import { mostSealedBytes, writeSealed } from '../../holdout/vault.ts';
import { isWithin, realOrSame } from '../../workspace/roots.ts';
import type { WorkdirBegin } from './workdir-seed.ts';

type Problem = { readonly problem: Diagnostic };

/** Makes the first commit of a run with history, and seals the holdout. */
export async function sealHoldout(
  { graph, where: { runId }, flags, host: { clock, env }, workdir, holdout }: WorkdirBegin,
  at: Layout,
) {
  let { own = [] } = holdout ?? {};
  if (hasHistory(graph, flags)) {
    // The first commit contains the workdir's scenarios; the workspace does not.
    if (holdout !== undefined) placeSealed(at.workspace, holdout.paths, own);
    const { recordBase } = await import('../../git/start-history.ts');
    const elsewhere = holdout === undefined ? [] : placeInWorkdir(workdir, holdout);
    const sealed = [...(holdout?.paths ?? []), ...elsewhere];
    const place = { historyDir: at.history, workspace: at.workspace, sealed };
    const recorded = await recordBase({ ...place, runId, now: clock.now(), env });
    if ('problem' in recorded) return recorded;
    // The history may have checked out another commit than the copy.
    if (holdout !== undefined) own = takeOutOwn(at.workspace, holdout.paths);
    takeOutSealed(at.workspace, elsewhere, [], undefined, () => true);
  }
  if (holdout === undefined) return { files: [], notes: [], holdout: undefined };
  const files = toSeal(holdout, own);
  const sealed = await seal(at.root, holdout, files);
  if ('problem' in sealed) return sealed;
  const replaced = sealed.from !== 'workdir' && own.some(({ path }) => isFirst(path, sealed));
  const note = `the workdir's ${sealed.paths[0]} is neither copied nor sealed: ${sealed.from} replaces it`;
  return { files, notes: replaced ? [note] : [], holdout: sealed };
}

/** Where the workdir, and so perhaps its commits, has the folder of `--holdout`. */
function placeInWorkdir(workdir: string | undefined, { from }: ChosenHoldout): readonly string[] {
  if (workdir === undefined || from === 'workdir') return [];
  const [top, folder] = [realOrSame(workdir), realOrSame(from)];
  return folder !== top && isWithin(top, folder) ? [relative(top, folder)] : [];
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

function toSeal({ paths, given, whole }: ChosenHoldout, own: readonly SealedFile[]): readonly SealedFile[] {
  if (given === undefined) return own;
  return whole === true ? given : [...given, ...own.filter(({ path }) => !isFirst(path, { paths }))];
}

/** Seals the holdout files; returns their description for the manifest. */
async function seal(
  building: string,
  { paths, from, committed, env }: ChosenHoldout,
  files: readonly SealedFile[],
): Promise<Holdout | Problem> {
  const written = await writeSealed(building, files, env);
  return 'problem' in written
    ? written
    : { paths: [...paths], from, ...(committed && { committed }), ...written };
}
