/** Determines what a run seals when it starts: which paths, taken from where. Errors are found before anything is created. */
import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Diagnostic } from '../core/diagnostic.ts';
import type { Graph } from '../core/graph.ts';
import { own } from '../core/json.ts';
import { holdoutPaths, usualHoldout } from '../core/policy/holdout-paths.ts';
import type { Manifest, SealedFile } from '../core/records/manifest.ts';
import type { Attribute } from '../core/settings/types.ts';
import { sha256 } from '../core/sha256.ts';
import { ancestorsOf, asListed, below, shownPath, toBytes } from '../platform/files/names.ts';
import { withoutSetId } from '../platform/files/set-id.ts';
import { trouble, WorkspaceError } from '../platform/files/workspace-error.ts';
import { isCode, isMissing, systemWords } from '../platform/files/write.ts';
import { ignoreOf } from '../workspace/copy.ts';
import { isWithin, realOf } from '../workspace/roots.ts';
import type { Tree } from '../workspace/snapshot.ts';
import { type FoundEntry, look, targetOf, walk } from '../workspace/walk.ts';
import { keysFix, keysFolder, mostSealedBytes } from './vault.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export type ChosenHoldout = {
  /** Relative to the workspace. */
  readonly paths: readonly string[];
  /** `workdir`, or the folder that the content of the first path is taken from. */
  readonly from: string;
  /** The workdir's files at the paths. */
  readonly own: readonly SealedFile[];
  /** The files of the separate holdout folder, which replace those at the first path. */
  readonly given: readonly SealedFile[] | undefined;
  /** The given files are those of all paths: another run has sealed them. */
  readonly whole?: true;
  /** Commits of the run may have scenarios that a fork has replaced by others. */
  readonly committed?: true;
  /** Absolute paths that must not be copied into the workspace. */
  readonly leaveOut: readonly string[];
  readonly env: Environment;
};

type Problem = { readonly problem: Diagnostic };

/** Reads the files that `holdout`, `holdout_from` and `--holdout` name. Without `holdout`, only scenarios in the default place
 *  are sealed. Files are read here, once: so the sealed contents are the checked ones. */
export async function chooseHoldout(
  graph: Graph,
  where: {
    /** `--holdout`, as typed. */
    readonly flag: string | undefined;
    readonly cwd: string;
    readonly variables?: Manifest['variables'];
    /** Absolute; undefined for an empty tree. */
    readonly workdir: string | undefined;
    readonly runsDir: string;
    readonly env: Environment;
  },
): Promise<{ readonly chosen: ChosenHoldout | undefined } | Problem> {
  const { workdir, runsDir, env } = where;
  const attribute = graph.attrs.get('holdout');
  const words = graph.settings.holdout;
  // The spelling on the disk, as git lists the files.
  const listed = (path: string) => (workdir === undefined ? path : asListed(workdir, path));
  const read = holdoutPaths(words, listed);
  const no = (message: string, fix: string, at: Attribute | undefined = attribute): Problem => ({
    problem: {
      code: 'holdout',
      severity: 'error',
      message,
      ...(at === undefined ? {} : { place: { file: graph.file, span: at.valueSpan } }),
      fix,
    },
  });
  if ('problem' in read) return no(`holdout: ${read.problem}`, 'name the files and folders of the holdout');
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
    const { message, fix } = unsealable(error);
    return no(message, fix);
  }
  if (given !== undefined && !given.some(({ kind }) => kind !== 'dir'))
    return no(
      `the folder of the holdout ${dir?.path ?? ''} has no files in it`,
      'name the folder that holds the scenarios',
      dir?.at,
    );
  const usual = holdoutPaths([usualHoldout], listed);
  for (const path of attribute === undefined ? [] : paths) {
    if (path === first && given !== undefined) continue;
    if ('paths' in usual && usual.paths.includes(path)) continue;
    if (own.some((file) => file.path === path)) continue;
    return no(
      `holdout: there is no "${path}" in ${workdir === undefined ? 'the empty tree that the run starts with' : `the workdir ${workdir}`}, so there would be no holdout`,
      'correct the path, or name a folder that holds its content with --holdout DIR',
    );
  }
  // An empty folder in the default place is no holdout.
  if (given === undefined && attribute === undefined && !own.some(({ kind }) => kind !== 'dir'))
    return { chosen: undefined };
  if (given === undefined && own.length === 0) return { chosen: undefined };
  const among = keysAmongRuns(runsDir, env);
  if (among !== undefined) return no(among, keysFix);
  return {
    chosen: {
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

/** A file of a holdout that cannot be sealed. */
export const unsealable = ({ message }: WorkspaceError): Diagnostic & { readonly fix: string } => ({
  code: 'holdout',
  severity: 'error',
  message: `holdout: ${message}`,
  fix: 'put regular files and folders there; a symbolic link could lead to other scenarios than the sealed ones',
});

/** The files at one path, except those that a copy of the workdir leaves out too. */
export async function readFrom(
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

/** The holdout folder outside the workdir; undefined if none is set. */
async function folderOf(
  graph: Graph,
  { flag, cwd, variables = {}, workdir, runsDir }: Parameters<typeof chooseHoldout>[1],
  no: (message: string, fix: string, at?: Attribute) => Problem,
): Promise<
  { readonly path: string; readonly real: string; readonly at: Attribute | undefined } | Problem | undefined
> {
  const source = holdoutSource(graph, variables, resolve(cwd, graph.file), flag && resolve(cwd, flag));
  if (source === undefined) return undefined;
  const path = source.folder;
  const name = { flag: '--holdout', graph: 'holdout_from', beside: 'holdout_beside' }[source.setting];
  const at = source.setting === 'flag' ? undefined : graph.attrs.get(name);
  const fix = chooseFix(name);
  const refuse = (why: string): Problem => {
    const refusal = no(`${name}: ${path} ${why}`, fix, at);
    if (at !== undefined) return refusal;
    const { place: _, ...problem } = refusal.problem;
    return { problem };
  };
  if (flag?.trim() === '')
    return { problem: { code: 'usage', severity: 'error', message: '--holdout names no folder', fix } };
  const found = await holdoutFolder(path, { workdir, runsDirs: [runsDir] });
  return 'why' in found ? refuse(found.why) : { path, real: found.real, at };
}

export const chooseFix = (name: string): string =>
  `name a folder that holds the scenarios, outside the runs directory, with ${name}`;

/** The real path of a folder that holdouts may be taken from; else why not: the end of a sentence that begins with the path. */
export async function holdoutFolder(
  path: string,
  { workdir, runsDirs }: { readonly workdir: string | undefined; readonly runsDirs: readonly string[] },
): Promise<{ readonly real: string } | { readonly why: string }> {
  const is = await stat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    if (isCode(error, 'ELOOP', 'ENAMETOOLONG', 'EACCES')) return systemWords(error);
    throw error;
  });
  if (is === undefined) return { why: 'does not exist' };
  if (typeof is === 'string') return { why: `cannot be read: ${is}` };
  if (!is.isDirectory()) return { why: 'is not a folder' };
  try {
    await readdir(path);
  } catch {
    return { why: 'cannot be read' };
  }
  const real = await realpath(path);
  for (const runsDir of runsDirs) {
    const runs = realOf(runsDir);
    if (isWithin(runs, real)) return { why: 'lies in the runs directory, where nodes run' };
    if (isWithin(real, runs)) return { why: `contains the runs directory ${runsDir}` };
  }
  return workdir !== undefined && isWithin(real, realOf(workdir))
    ? { why: 'is the workdir, or contains it: nothing would be left to work on' }
    : { real };
}

/** Why keys may not be stored in the folder that `env` sets; undefined if they may, or if it sets none. */
export function keysAmongRuns(
  runsDir: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const keys = keysFolder(env);
  return keys !== undefined && isWithin(realOf(runsDir), realOf(keys))
    ? `the key of the sealed scenarios would lie in the runs directory (${keys}), next to the files that it decrypts`
    : undefined;
}

/** Bytes from which equal contents are a copy: shorter ones may be equal by chance. */
export const ownFrom = 32;

/** Copies that a warning names. */
const mostNamed = 5;

/** A warning if the workspace has a copy of a holdout file at another path: agents may read it, and neither the leak guard nor
 *  the audit reports text that the workspace had from the start. It may be intended (sample data, a licence), so it is no
 *  error. */
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
    `agents can read holdout files in these copies; exclude them with a line in .factoryignore, unless agents may know them: ${copies.sort().slice(0, mostNamed).join(', ')}${more}`,
  ];
}

/** The folder that a run's holdout is taken from, when it is not in the workdir. */
export type HoldoutSource = {
  /** Absolute. Its existence was checked only for `holdout_beside`. */
  readonly folder: string;
  /** The setting that names it: the flag `--holdout`, the attribute `holdout_from`, or the attribute `holdout_beside`. */
  readonly setting: 'flag' | 'graph' | 'beside';
};

/** The name of the holdout folder next to a spec. */
const siblingName = 'scenarios';

/** The flag (resolved by the caller), else `holdout_from` (relative to the pipeline file), else the folder `scenarios` next to
 *  the file of the variable that `holdout_beside` names, or in a folder that it names, if there is one: so a spec is never
 *  checked with the scenarios of another spec. `pipelineFile` is absolute. */
export function holdoutSource(
  graph: Graph,
  variables: Manifest['variables'],
  pipelineFile: string,
  flag: string | undefined,
): HoldoutSource | undefined {
  if (flag !== undefined) return { folder: resolve(flag), setting: 'flag' };
  const { holdout_from: from, holdout_beside: name } = graph.settings;
  if (from !== undefined) return { folder: resolve(dirname(pipelineFile), from), setting: 'graph' };
  const file = name === undefined ? undefined : own(variables, name)?.file;
  if (file === undefined) return undefined;
  const places = [...(isFolder(file.source) ? [file.source] : []), dirname(file.source)];
  const folder = places.map((place) => join(place, siblingName)).find(isFolder);
  return folder === undefined ? undefined : { folder, setting: 'beside' };
}

/** Throws where the folder cannot be examined: it may contain a holdout that must be sealed. A circular link is no folder. */
function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    if (isCode(error, 'ELOOP')) return false;
    throw error;
  }
}

/** Files read out of a folder to be sealed. No link is followed. */
export type FilesToSeal = {
  /** Where the files shall appear: `path` below `root` becomes `as`. */
  readonly as: string;
  /** Of paths relative to `root`: what is left out. */
  readonly leaveOut: (path: string, isFolder: boolean) => boolean;
  /** Most bytes of all contents together. */
  readonly most: number;
};

/** Everything at and below `path` of the folder `root` (empty: the folder itself); nothing when it is not there. Throws a
 *  WorkspaceError for what cannot be sealed: what leads over a link, sockets, pipes, devices, too many bytes. */
export function readForSealing(
  root: string,
  path: string,
  { as, leaveOut, most }: FilesToSeal,
): SealedFile[] {
  for (const folder of path === '' ? [] : [...ancestorsOf(path), path]) {
    const found = look(root, folder);
    if (found === undefined) return [];
    if (found.kind === 'link')
      throw new WorkspaceError(
        `"${shownPath(path)}" cannot be sealed: ${folder === path ? 'it' : `"${shownPath(folder)}"`} is a link`,
      );
  }
  const top = path === '' ? lookAtTop(root) : look(root, path);
  if (top === undefined || leaveOut(path, top.kind === 'dir')) return [];
  const files: SealedFile[] = [];
  let bytes = 0;
  const take = (found: FoundEntry, place: string, name: string): void => {
    const { kind, mode } = found;
    if (kind === 'special')
      throw new WorkspaceError(
        `"${shownPath(place)}" cannot be sealed: it is a socket, a pipe or a device, which cannot be kept`,
      );
    if (kind === 'file') bytes += found.stat.size;
    if (bytes > most)
      throw new WorkspaceError(`what is to be sealed is larger than ${most} bytes: it is held in memory`);
    files.push({
      path: name,
      kind,
      mode: kind === 'file' ? withoutSetId(mode) : mode,
      content: contentOf(root, place, kind),
    });
  };
  take(top, path, as);
  if (top.kind !== 'dir') return files;
  const place = (one: string) => (path === '' ? one : `${path}/${one}`);
  const left = (found: FoundEntry) => leaveOut(place(found.path), found.kind === 'dir');
  for (const found of walk(path === '' ? root : `${root}/${path}`, { enter: (one) => !left(one) }))
    if (!left(found)) take(found, place(found.path), `${as}/${found.path}`);
  return files;
}

function lookAtTop(root: string): FoundEntry {
  const stat = lstatSync(root);
  return { path: '', kind: 'dir', mode: stat.mode & 0o7777, stat };
}

function contentOf(root: string, path: string, kind: SealedFile['kind']): Buffer {
  if (kind === 'dir') return Buffer.alloc(0);
  if (kind === 'link') return Buffer.from(toBytes(targetOf(root, path)));
  try {
    return readFileSync(below(root, path));
  } catch (error) {
    throw trouble('read', path, error);
  }
}
