/** New projects from templates: a pipeline, its prompts, scenarios and prepared answers. */
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { open, readdir, readFile, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { about, diskError } from '../platform/files/disk-error.ts';
import { isFolder } from '../platform/files/read.ts';
import { isCode, makeFolder, systemWords } from '../platform/files/write.ts';
import { packageRoot } from '../platform/package.ts';

type Source = {
  /** A file or folder of this package. */
  readonly from: string;
  /** Where it goes in the project. */
  readonly to: string;
  /** Texts that are replaced: paths that differ in the project. */
  readonly put?: readonly (readonly [string, string])[];
};

export const templates = {
  'fix-loop': {
    about: 'tests, an agent that fixes what they find, scenarios',
    pipeline: 'pipelines/fix-loop.dot',
    sources: [{ from: 'templates/fix-loop', to: '' }],
  },
  build: {
    about: 'a spec into work orders into verified commits, scenarios',
    pipeline: 'pipelines/compile-and-build.dot',
    sources: [
      {
        from: 'pipelines/compile-and-build.dot',
        to: 'pipelines/compile-and-build.dot',
        put: [['../examples/linkcheck/', '../']],
      },
      { from: 'pipelines/ask.dot', to: 'pipelines/ask.dot', put: [['../examples/linkcheck/', '../']] },
      { from: 'prompts', to: 'prompts' },
      { from: 'examples/linkcheck/spec.md', to: 'spec.md' },
      { from: 'examples/linkcheck/scenarios', to: 'scenarios' },
      { from: 'examples/linkcheck/answers', to: 'answers' },
      { from: 'examples/linkcheck/agent.json', to: 'agent.json' },
    ],
  },
  review: {
    about: 'one agent writes, another one reviews, tests, scenarios',
    pipeline: 'pipelines/review.dot',
    sources: [
      { from: 'templates/review', to: '' },
      { from: 'templates/fix-loop/test.sh', to: 'test.sh' },
      { from: 'templates/fix-loop/scripts', to: 'scripts' },
    ],
  },
} as const satisfies Readonly<
  Record<string, { about: string; pipeline: string; sources: readonly Source[] }>
>;
export type TemplateName = keyof typeof templates;

export type NewProject = {
  /** Absolute. */
  readonly folder: string;
  /** Paths of the written files, relative to the folder, in order. */
  readonly files: readonly string[];
  /** The path of its pipeline, relative to the folder. */
  readonly pipeline: string;
};

/** Writes the files of a template into `folder`, which may exist; refuses, and leaves nothing, where one of them is there or cannot
 *  be made. Rejects on a disk error, and leaves nothing then either. */
export async function initProject(folder: string, template: TemplateName): Promise<NewProject | Refusal> {
  const { sources, pipeline } = templates[template];
  const files = (await Promise.all(sources.map(filesOf))).flat();
  // Of a path that is out of reach, making its folder says why.
  const there = files.filter(({ to }) => entryAt(resolve(folder, to)) !== undefined).map(({ to }) => to);
  if (there.length > 0)
    return refused(
      'file-exists',
      `${folder} has ${there.slice(0, 5).join(', ')}${there.length > 5 ? ', …' : ''} already`,
      otherFolder,
      2,
    );
  const made: string[] = [];
  try {
    for (const file of files) await writeOne(file, resolve(folder, file.to), made);
  } catch (error) {
    for (const path of made.reverse()) await rm(path).catch(() => rmdir(path).catch(() => {}));
    const why = whyNotMade(folder, files, error);
    if (why === undefined) throw error;
    return refused('folder', why, otherFolder, 2);
  }
  return { folder, files: files.map(({ to }) => to).sort(), pipeline };
}

const otherFolder = 'name a new folder: factory init NAME';

/** Adds to `made` what it makes, outermost first, also where it fails. */
async function writeOne({ from, put = [] }: Source, path: string, made: string[]): Promise<void> {
  const above = dirname(path);
  const first = makeFolder(above);
  if (first !== undefined) {
    const folders: string[] = [];
    for (let at = above; at.length >= first.length; at = dirname(at)) folders.unshift(at);
    made.push(...folders);
  }
  const text = await readFile(from, 'utf8');
  const changed = put.reduce((all, [old, now]) => all.replaceAll(old, now), text);
  const file = await open(path, 'wx', (await stat(from)).mode & 0o777);
  made.push(path);
  try {
    await about(path, file.writeFile(changed));
  } finally {
    await file.close();
  }
}

/** Why the folder takes no project, where no disk error is the cause. */
function whyNotMade(folder: string, files: readonly Source[], error: unknown): string | undefined {
  if (diskError(error) !== undefined || !isCode(error, ...unusable)) return undefined;
  const steps = files.flatMap(({ to }) => pathsTo(dirname(resolve(folder, to))));
  for (const at of steps) {
    const is = entryAt(at);
    if (is?.isSymbolicLink() === true && !existsSync(at))
      return `${at} is a symbolic link that leads nowhere (to ${readlinkSync(at)})`;
    if (is !== undefined && !isFolder(at)) return `${at} is no folder`;
  }
  return `${folder} cannot be made: ${systemWords(error)}`;
}

const unusable = ['EEXIST', 'ENOTDIR', 'ENOENT', 'ELOOP', 'ENAMETOOLONG', 'EINVAL'] as const;

/** A path and those above it, outermost first. */
function pathsTo(path: string): readonly string[] {
  return path === dirname(path) ? [path] : [...pathsTo(dirname(path)), path];
}

/** What is at a path, a link for itself; undefined where nothing is, or it is out of reach. */
function entryAt(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The files of a source, each with its own place in the project. */
async function filesOf({ from, to, put }: Source): Promise<readonly Source[]> {
  const path = join(packageRoot(), from);
  if ((await stat(path)).isFile()) return [{ from: path, to, ...(put === undefined ? {} : { put }) }];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ from: file, to: join(to, relative(path, file)) }));
}
