/** Compares the bytes that a checkout has in the repository to which commits are delivered with those that the proof had:
 *  settings and attributes outside of the commits (`core.autocrlf`, `info/attributes`, `core.attributesFile`) may make a
 *  difference. Filters stay off. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../platform/files/temporary.ts';
import { type Git, type GitCall, sourceGit } from '../platform/git.ts';
import { fewFiles } from './filters.ts';
import { borrowHistory, checkOut } from './fresh-checkout.ts';

export type ByteDifferences = {
  /** Files whose content differs. */
  readonly content: readonly string[];
  /** Files that differ in line ends only. */
  readonly lineEnds: readonly string[];
};

/** Attributes by which git converts a file without a program. */
const converting = ['text', 'crlf', 'eol', 'ident', 'working-tree-encoding'];

/** The files of `head` that a checkout would have with other bytes than the proof. `target` is the repository; without one,
 *  a new repository of the user. It is only read. */
export async function targetDifferences(where: {
  readonly historyDir: string;
  readonly head: string;
  readonly target: string | undefined;
  readonly env: Environment;
}): Promise<ByteDifferences> {
  const { historyDir, head, target, env } = where;
  const folder = await makeTemporary(temporaryOf(env), 'factory-bytes');
  try {
    const borrowed = await borrowHistory(historyDir, head, { dir: join(folder, 'history'), env });
    const [verified, there] = [join(folder, 'verified'), join(folder, 'there')];
    for (const path of [verified, there]) await mkdir(path);
    const own = borrowed.at(verified);
    await own.text(['read-tree', head]);
    const gitDir =
      target === undefined
        ? borrowed.dir
        : await sourceGit(target, env).text(['rev-parse', '--absolute-git-dir']);
    const git = await targetGit(there, env, {
      GIT_DIR: gitDir,
      GIT_WORK_TREE: there,
      GIT_INDEX_FILE: join(folder, 'index'),
      GIT_ALTERNATE_OBJECT_DIRECTORIES: join(historyDir, 'objects'),
    });
    await git.text(['read-tree', head]);
    const paths = await filesToCompare(own, git);
    if (paths.length === 0) return { content: [], lineEnds: [] };
    await checkOut(borrowed, head, verified, paths);
    await git.text(['checkout-index', '--force', '--quiet', '-z', '--stdin'], { input: lines(paths) });
    return await compare(paths, verified, there);
  } finally {
    await removeTree(folder);
  }
}

/** Git with the settings of the target, except those that run programs or leave files out. */
async function targetGit(
  cwd: string,
  env: Environment,
  variables: Readonly<Record<string, string>>,
): Promise<Pick<Git, 'text' | 'list'>> {
  const git = sourceGit(cwd, env);
  const found = await git.run(['config', '-z', '--name-only', '--get-regexp', '^filter\\.'], {
    env: variables,
  });
  const filters = new Set(
    (found.ok ? found.text.split('\0') : []).map((name) => name.slice(0, name.lastIndexOf('.'))),
  );
  filters.delete('');
  const settings = [
    ...['core.sparseCheckout=false', 'core.splitIndex=false'],
    ...[...filters].flatMap((name) => [`${name}.smudge=`, `${name}.process=`, `${name}.required=false`]),
  ].flatMap((setting) => ['-c', setting]);
  const with_ = (call: GitCall = {}): GitCall => ({ ...call, env: variables });
  return {
    text: (args, call) => git.text([...settings, ...args], with_(call)),
    list: (args, call) => git.list([...settings, ...args], with_(call)),
  };
}

/** Files with other attributes there; all, if settings there change line ends. Links and submodules are never converted. */
async function filesToCompare(
  own: Pick<Git, 'text' | 'list'>,
  there: Pick<Git, 'text' | 'list'>,
): Promise<string[]> {
  const files = (await own.list(['ls-files', '--stage', '-z']))
    .filter((line) => line.startsWith('100'))
    .map((line) => line.slice(line.indexOf('\t') + 1))
    // Such a name was not UTF-8.
    .filter((path) => !path.includes('\ufffd'));
  const setting = (name: string) => there.text(['config', '--default', '', '--get', name]);
  const isAll = (await setting('core.autocrlf')) === 'true' || (await setting('core.eol')) === 'crlf';
  if (isAll || files.length === 0) return files;
  const [before, after] = [await attributesOf(own, files), await attributesOf(there, files)];
  return files.filter((_, at) => before[at] !== after[at]);
}

/** The values of the attributes, one text for each file. */
async function attributesOf(git: Pick<Git, 'text'>, files: readonly string[]): Promise<readonly string[]> {
  const input = lines(files);
  const found = await git.text(['check-attr', '-z', '--cached', '--stdin', ...converting], { input });
  // The path, the attribute, its value.
  const values = found.split('\0').filter((_, at) => at % 3 === 2);
  return files.map((_, at) => values.slice(at * converting.length, (at + 1) * converting.length).join(' '));
}

const lines = (paths: readonly string[]): string => paths.map((path) => `${path}\0`).join('');

async function compare(paths: readonly string[], one: string, other: string): Promise<ByteDifferences> {
  const content: string[] = [];
  const lineEnds: string[] = [];
  for (const path of paths) {
    const [a, b] = await Promise.all([readFile(join(one, path)), readFile(join(other, path))]);
    if (a.equals(b)) continue;
    (unified(a) === unified(b) ? lineEnds : content).push(path);
  }
  return { content, lineEnds };
}

const unified = (bytes: Buffer): string => bytes.toString('latin1').replaceAll('\r\n', '\n');

/** Why commits are not delivered, or the warning for line ends; empty without differences. */
export function differenceWords({ content, lineEnds }: ByteDifferences): {
  readonly refused?: { readonly problem: string; readonly fix: string };
  readonly warnings: readonly string[];
} {
  if (content.length > 0)
    return {
      refused: {
        problem: `a checkout there would have other content than the checks have seen: ${fewFiles(content)}`,
        fix: 'git check-attr -a -- FILE names the attributes (ident, working-tree-encoding) that change it: remove them from info/attributes and core.attributesFile, then deliver again',
      },
      warnings: [],
    };
  if (lineEnds.length === 0) return { warnings: [] };
  return {
    warnings: [
      `a checkout there has other line ends than the checks have seen (core.autocrlf, core.eol or attributes): ${fewFiles(lineEnds)}`,
    ],
  };
}
