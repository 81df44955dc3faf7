/** What a run is to seal when it begins: which paths, taken from where; refused before anything is made. */
import { realpathSync } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { graphAttributes } from '../lint/words.ts';
import { present, readAttributes } from '../model/attribute.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Attribute, Graph } from '../model/graph.ts';
import type { Manifest } from '../model/manifest.ts';
import type { SealedFile } from '../model/sealed.ts';
import { sha256 } from '../model/sha256.ts';
import { holdoutPaths, usualHoldout } from '../policy/holdout.ts';
import { keysFolder, mendKeys, mostSealedBytes } from '../store/sealed.ts';
import { isCode, isMissing, systemWords } from '../system/files.ts';
import { asListed } from '../system/spelled.ts';
import { ignoreOf } from '../workspace/copy.ts';
import { isWithin, realOf } from '../workspace/dirs.ts';
import type { Tree } from '../workspace/snapshot.ts';
import { readForSealing } from '../workspace/to-seal.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { holdoutSource } from './holdout-source.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export type WantedHoldout = {
  /** Relative to the workspace. */
  readonly paths: readonly string[];
  /** `workdir`, or the folder that the content of the first path is taken from. */
  readonly from: string;
  /** What the workdir has at the paths. */
  readonly own: readonly SealedFile[];
  /** What the first path holds in its place, where it comes from a folder of its own. */
  readonly given: readonly SealedFile[] | undefined;
  /** Absolute paths that must not be copied into the workspace. */
  readonly leaveOut: readonly string[];
  readonly env: Environment;
};

type Problem = { readonly problem: Diagnostic };

/** Reads what `holdout`, `holdout_from` and `--holdout` name. Without `holdout` nothing is sealed where the workdir has no
 *  scenarios in the usual place. Files are read here, once: what is sealed is what was looked at. */
export async function wantedHoldout(
  graph: Graph,
  where: {
    /** `--holdout`, as it was typed. */
    readonly flag: string | undefined;
    readonly cwd: string;
    /** Of the run: beside the file of one of them may lie what judges. */
    readonly variables?: Manifest['variables'];
    /** Absolute; undefined for an empty tree. */
    readonly workdir: string | undefined;
    readonly runsDir: string;
    readonly env: Environment;
  },
): Promise<{ readonly wanted: WantedHoldout | undefined } | Problem> {
  const { workdir, runsDir, env } = where;
  const said = present(graph.attrs, 'holdout');
  const words = readAttributes(graph.attrs, graphAttributes).values.holdout ?? [usualHoldout];
  // What lists the workdir, git above all, knows the files by no other spelling.
  const listed = (path: string) => (workdir === undefined ? path : asListed(workdir, path));
  const read = holdoutPaths(words, listed);
  const no = (message: string, fix: string, at: Attribute | undefined = said): Problem => ({
    problem: {
      code: 'holdout',
      severity: 'error',
      message,
      ...(at === undefined ? {} : { place: { file: graph.file, span: at.valueSpan } }),
      fix,
    },
  });
  if ('problem' in read) return no(`holdout: ${read.problem}`, 'name the files and folders of the judge');
  const { paths } = read;
  const [first = ''] = paths;
  const dir = await folderOf(graph, where, no);
  if (dir !== undefined && 'problem' in dir) return dir;

  const left = [runsDir, ...(dir === undefined ? [] : [dir.real])];
  const own: SealedFile[] = [];
  let given: SealedFile[] | undefined;
  try {
    for (const path of workdir === undefined ? [] : paths)
      own.push(...(await readFrom(workdir ?? '', path, path, left)));
    if (dir !== undefined) given = await readFrom(dir.path, '', first, [runsDir]);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    return no(
      `holdout: ${error.message}`,
      'put plain files and folders there; a link in place of a holdout, or on the way to one, would let others decide what judges',
    );
  }
  if (given !== undefined && !given.some(({ kind }) => kind !== 'dir'))
    return no(
      `the folder of the holdout ${dir?.path ?? ''} has no files in it`,
      'name the folder that holds the scenarios',
      dir?.at,
    );
  const usual = holdoutPaths([usualHoldout], listed);
  for (const path of said === undefined ? [] : paths) {
    if (path === first && given !== undefined) continue;
    if ('paths' in usual && usual.paths.includes(path)) continue;
    if (own.some((file) => file.path === path)) continue;
    return no(
      `holdout: there is no "${path}" in ${workdir === undefined ? 'the empty tree that the run begins with' : `the workdir ${workdir}`}, so nothing would judge`,
      'correct the path, or name a folder that holds its content with --holdout DIR',
    );
  }
  // An empty folder in the usual place holds no judge.
  if (given === undefined && said === undefined && !own.some(({ kind }) => kind !== 'dir'))
    return { wanted: undefined };
  if (given === undefined && own.length === 0) return { wanted: undefined };
  const among = keysAmongRuns(runsDir, env);
  if (among !== undefined) return no(among, mendKeys);
  return {
    wanted: {
      paths,
      from: dir?.path ?? 'workdir',
      own,
      given,
      leaveOut: [
        ...(workdir === undefined ? [] : paths.map((path) => join(workdir, path))),
        ...(dir === undefined ? [] : [dir.path]),
      ],
      env,
    },
  };
}

/** What one path holds, without what no copy of a workdir holds either. */
async function readFrom(
  root: string,
  path: string,
  as: string,
  left: readonly string[],
): Promise<SealedFile[]> {
  const top = realpathSync.native(root);
  const ignored = path === '' ? () => false : ignoreOf(top);
  const out = new Set(left.map(realOf));
  return readForSealing(top, path, {
    as,
    most: mostSealedBytes,
    leaveOut: (at, isFolder) =>
      at === '.git' || at.endsWith('/.git') || (at !== '' && ignored(at, isFolder)) || out.has(join(top, at)),
  });
}

/** The folder outside of the workdir that holds the judge; undefined where nobody names one. */
async function folderOf(
  graph: Graph,
  { flag, cwd, variables = {}, workdir, runsDir }: Parameters<typeof wantedHoldout>[1],
  no: (message: string, fix: string, at?: Attribute) => Problem,
): Promise<
  { readonly path: string; readonly real: string; readonly at: Attribute | undefined } | Problem | undefined
> {
  const source = holdoutSource(graph, variables, resolve(cwd, graph.file), flag && resolve(cwd, flag));
  if (source === undefined) return undefined;
  const path = source.folder;
  const name = { flag: '--holdout', graph: 'holdout_from', beside: 'holdout_beside' }[source.said];
  const at = source.said === 'flag' ? undefined : present(graph.attrs, name);
  const fix = `name a folder that holds the scenarios, outside of the runs directory, with ${name}`;
  const refuse = (why: string): Problem => {
    const refusal = no(`${name}: ${path} ${why}`, fix, at);
    if (at !== undefined) return refusal;
    const { place: _, ...problem } = refusal.problem;
    return { problem };
  };
  if (flag?.trim() === '')
    return { problem: { code: 'usage', severity: 'error', message: '--holdout names no folder', fix } };
  const is = await stat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    if (isCode(error, 'ELOOP', 'ENAMETOOLONG', 'EACCES')) return systemWords(error);
    throw error;
  });
  if (is === undefined) return refuse('does not exist');
  if (typeof is === 'string') return refuse(`cannot be read: ${is}`);
  if (!is.isDirectory()) return refuse('is not a folder');
  try {
    await readdir(path);
  } catch {
    return refuse('cannot be read');
  }
  const real = await realpath(path);
  const runs = realOf(runsDir);
  if (isWithin(runs, real)) return refuse('lies in the runs directory, where stages work');
  if (isWithin(real, runs)) return refuse(`contains the runs directory ${runsDir}`);
  if (workdir !== undefined && isWithin(real, realOf(workdir)))
    return refuse(`is the workdir, or contains it: nothing would be left to work on`);
  return { path, real, at };
}

/** Why no key may be kept where `env` says; undefined where it may, or says nothing. */
export function keysAmongRuns(
  runsDir: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const keys = keysFolder(env);
  return keys !== undefined && isWithin(realOf(runsDir), realOf(keys))
    ? `the key of the sealed scenarios would lie in the folder of runs (${keys}), beside what it opens`
    : undefined;
}

/** Bytes of a content that is nobody's own: shorter ones occur by chance. */
export const ownFrom = 32;

/** Copies that are named. */
const mostNamed = 5;

/** A warning where agents have a sealed file from the beginning, as another one: what they write of it is then theirs, and
 *  no guard or audit would speak of it. It may be meant (sample data, a licence), so that nothing is refused. */
export function copyNotes(tree: Tree, sealed: readonly SealedFile[]): readonly string[] {
  const hashes = new Set(
    sealed.flatMap(({ kind, content }) =>
      kind === 'file' && content.length >= ownFrom ? [sha256(content)] : [],
    ),
  );
  if (hashes.size === 0) return [];
  const copies = [...tree].flatMap(([path, { hash }]) =>
    hash !== undefined && hashes.has(hash) ? [path] : [],
  );
  if (copies.length === 0) return [];
  const more = copies.length > mostNamed ? ` and ${copies.length - mostNamed} more` : '';
  return [
    `agents can read what is sealed here, in a copy; leave it out with a line in .factoryignore, unless they may know it: ${copies.sort().slice(0, mostNamed).join(', ')}${more}`,
  ];
}
