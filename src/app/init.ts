/** New projects from templates: a pipeline, its prompts, a pair of scenarios and prepared answers. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { type Refusal, refused } from '../core/diagnostic.ts';
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

/** Writes the files of a template into `folder`, which may exist; refuses, and writes nothing, where one of them is there. */
export async function initProject(folder: string, template: TemplateName): Promise<NewProject | Refusal> {
  const { sources, pipeline } = templates[template];
  const files = (await Promise.all(sources.map(filesOf))).flat();
  const there = files.filter(({ to }) => existsSync(resolve(folder, to))).map(({ to }) => to);
  if (there.length > 0)
    return refused(
      'file-exists',
      `${folder} has ${there.slice(0, 5).join(', ')}${there.length > 5 ? ', …' : ''} already`,
      'name a new folder: factory init NAME',
      2,
    );
  for (const { from, to, put = [] } of files) {
    const path = resolve(folder, to);
    await mkdir(dirname(path), { recursive: true });
    const text = await readFile(from, 'utf8');
    const changed = put.reduce((all, [old, now]) => all.replaceAll(old, now), text);
    await writeFile(path, changed, { flag: 'wx', mode: (await stat(from)).mode & 0o777 });
  }
  return { folder, files: files.map(({ to }) => to).sort(), pipeline };
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
