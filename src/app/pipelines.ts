/** The pipelines that a folder offers, and those that come with factory, by name. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { parseVars } from '../core/references.ts';
import { packageRoot } from '../platform/package.ts';
import { readPipeline } from './read-pipeline.ts';

/** A variable of a pipeline. */
export type OfferedVariable = {
  readonly name: string;
  /** Null: a run must set it. Of a file variable the path of its file, relative to the pipeline. */
  readonly default: string | null;
  /** Its value is the path of a file, which is read at the start. */
  readonly file: boolean;
};

/** A pipeline that `factory run NAME` finds. */
export type OfferedPipeline = {
  /** What one types after `factory run`. */
  readonly name: string;
  /** Absolute path of the file. */
  readonly file: string;
  readonly from: 'folder' | 'bundled';
  /** The label of the graph, else its goal, else empty. */
  readonly title: string;
  readonly variables: readonly OfferedVariable[];
  /** False for a file in which `factory validate` finds errors. */
  readonly valid: boolean;
};

const bundledFolder = (): string => join(packageRoot(), 'pipelines');
const dotFiles = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.dot'))
        .map(({ name }) => name)
        .sort()
    : [];

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** Names of the bundled pipelines. */
export const bundledPipelines = (): readonly string[] =>
  dotFiles(bundledFolder()).map((name) => basename(name, '.dot'));

/** The path of the pipeline that `name` means, as a command would be given it: a file of that name in `cwd`, with or without
 *  `.dot`, also in its folder `pipelines`; else the bundled pipeline; else `name` itself, which the reader then refuses. */
export function pipelinePath(name: string, cwd: string): string {
  if (!/^[^/\0]{1,250}$/.test(name)) return name;
  const dot = `${basename(name, '.dot')}.dot`;
  const own = [name, dot, join('pipelines', dot)].find((path) => isFile(resolve(cwd, path)));
  const bundled = join(bundledFolder(), dot);
  return own ?? (existsSync(bundled) ? bundled : name);
}

/** The pipelines in `cwd` and its folder `pipelines`, then the bundled ones that none of those hides; each list by name. */
export async function offeredPipelines(cwd: string): Promise<readonly OfferedPipeline[]> {
  const own = [cwd, join(cwd, 'pipelines')].flatMap((folder) =>
    dotFiles(folder).map((name) => ({ name: relative(cwd, join(folder, name)), file: join(folder, name) })),
  );
  const bundled = bundledPipelines()
    .map((name) => ({ name, file: join(bundledFolder(), `${name}.dot`) }))
    .filter(({ name, file }) => pipelinePath(name, cwd) === file);
  return Promise.all([
    ...own.map((one) => offered(one, 'folder', cwd)),
    ...bundled.map((one) => offered(one, 'bundled', cwd)),
  ]);
}

async function offered(
  { name, file }: { readonly name: string; readonly file: string },
  from: OfferedPipeline['from'],
  cwd: string,
): Promise<OfferedPipeline> {
  const { graph } = await readPipeline(file, cwd, { toRun: false });
  if (graph === undefined) return { name, file, from, title: '', variables: [], valid: false };
  const { label, goal, vars } = graph.settings;
  return {
    name,
    file,
    from,
    title: (label ?? String(goal?.value ?? '')).trim(),
    variables: parseVars(vars ?? '').vars.map((one) => ({
      name: one.name,
      default: one.value ?? null,
      file: one.file,
    })),
    valid: true,
  };
}
