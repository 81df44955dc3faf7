/** The pipelines that a folder offers, and those that come with factory, by name. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { workdirOf } from '../core/pipeline.ts';
import { variablesOf } from '../core/variables.ts';
import { packageRoot } from '../platform/package.ts';
import type { OfferedPipeline, PipelineList } from './answers.ts';
import { type ReadOptions, readPipeline } from './read-pipeline.ts';

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

type Offer = Pick<ReadOptions, 'inert'> & { readonly isOffered?: (one: NamedPipeline) => boolean };

/** What `factory pipelines` answers with. */
export const pipelineList = async (cwd: string, offer?: Offer): Promise<PipelineList> => ({
  schema_version: 1,
  pipelines: [...(await offeredPipelines(cwd, offer))],
});

/** A pipeline by the name that one types for it. */
export type NamedPipeline = Pick<OfferedPipeline, 'name' | 'file' | 'from'>;

/** The pipelines in `cwd` and its folder `pipelines`, then the bundled ones that none of those hides; each list by name. */
export function namedPipelines(cwd: string): readonly NamedPipeline[] {
  const own = [cwd, join(cwd, 'pipelines')].flatMap((folder) =>
    dotFiles(folder).map((name) => {
      const file = join(folder, name);
      return { name: relative(cwd, file), file, from: 'folder' as const };
    }),
  );
  const bundled = bundledPipelines()
    .map((name) => ({ name, file: join(bundledFolder(), `${name}.dot`), from: 'bundled' as const }))
    .filter(({ name, file }) => pipelinePath(name, cwd) === file);
  return [...own, ...bundled];
}

/** The same, read: those that `isOffered` accepts. */
export const offeredPipelines = (
  cwd: string,
  { isOffered = () => true, ...options }: Offer = {},
): Promise<readonly OfferedPipeline[]> =>
  Promise.all(
    namedPipelines(cwd)
      .filter(isOffered)
      .map((one) => offered(one, cwd, options)),
  );

async function offered(
  { name, file, from }: NamedPipeline,
  cwd: string,
  options: Pick<ReadOptions, 'inert'>,
): Promise<OfferedPipeline> {
  const { graph } = await readPipeline(file, cwd, { ...options, toRun: false });
  const of = { name, file, from, source: from };
  if (graph === undefined) return { ...of, title: '', label: '', workdir: null, variables: [], valid: false };
  const { label, goal } = graph.settings;
  const title = (label ?? String(goal?.value ?? '')).trim();
  return {
    ...of,
    title,
    label: title,
    workdir: workdirOf(graph, {}, cwd) ?? null,
    variables: variablesOf(graph).map((one) => ({
      ...{ name: one.name, default: one.value ?? null, required: one.value === undefined, file: one.file },
      label: one.name.replaceAll('_', ' '),
    })),
    valid: true,
  };
}
