/** What a user submits: pipelines, specs, and folders of specs. */
import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { bundledPipelines, pipelinePath } from '../app/pipelines.ts';
import { mainFileOf } from '../app/spec-folder.ts';
import { type Diagnostic, type Refusal, wrong } from '../core/diagnostic.ts';
import { nearest } from '../core/nearest.ts';
import { packageRoot } from '../platform/package.ts';

export type Source = {
  /** The path of the pipeline, as its reader takes it. */
  readonly pipeline: string;
  /** How another process in any folder names it: its absolute path, or the name of a bundled one. */
  readonly named: string;
  /** Absolute path of the spec, a file or a folder, that the bundled pipeline for specs builds. */
  readonly spec: string | undefined;
};

/** The pipeline for specs. */
const buildPipeline = 'compile-and-build';

/** How the names of specs in a folder end. */
const specEnds = ['.md', '.markdown', '.txt', '.rst', '.adoc', '.org'];

/** The sources that the names stand for, in their order, those of a folder by name; or all that is wrong with them. */
export function sourcesOf(
  names: readonly string[],
  cwd: string,
): { readonly sources: readonly Source[] } | Refusal {
  const sources: Source[] = [];
  const problems: Diagnostic[] = [];
  for (const name of names) {
    const found = sourcesAt(name, cwd);
    if ('problem' in found) problems.push(found.problem);
    else sources.push(...found.sources);
  }
  return problems.length > 0 ? { problems } : { sources };
}

type Found = { readonly sources: readonly Source[] } | { readonly problem: Diagnostic };
const no = (message: string, fix: string): Found => ({ problem: wrong('usage', message, fix) });

function sourcesAt(name: string, cwd: string): Found {
  if (name.trim() === '') return no('a name is empty', 'name a pipeline, a spec or a folder of specs');
  const is = kindAt(resolve(cwd, name));
  if (is === 'device')
    return no(`${name} is not there any more when the run begins`, 'save the text to a file and name that');
  const pipeline = pipelinePath(name, cwd);
  if (
    name.endsWith('.dot') ||
    (kindAt(resolve(cwd, pipeline), pipeline !== name) === 'file' && pipeline !== name)
  )
    return { sources: [pipelineSource(pipeline, cwd)] };
  if (is === 'folder' && mainFileOf(resolve(cwd, name)) !== undefined)
    return { sources: [specSource(resolve(cwd, name), cwd)] };
  if (is === 'folder') return specsIn(name, cwd);
  if (is === 'file') return { sources: [specSource(resolve(cwd, name), cwd)] };
  const meant = nearest(name, bundledPipelines());
  return no(
    `there is no pipeline, spec or folder ${name}`,
    `${meant === undefined ? '' : `did you mean "${meant}"? `}factory pipelines lists the pipelines`,
  );
}

function kindAt(path: string, exists = true): 'file' | 'folder' | 'device' | 'missing' {
  const is = exists ? statSync(path, { throwIfNoEntry: false }) : undefined;
  if (is === undefined) return 'missing';
  return is.isDirectory() ? 'folder' : is.isFile() ? 'file' : 'device';
}

function pipelineSource(path: string, cwd: string): Omit<Source, 'spec'> & { spec: undefined } {
  const whole = resolve(cwd, path);
  const isBundled = dirname(whole) === join(packageRoot(), 'pipelines');
  return { pipeline: path, named: isBundled ? basename(whole, '.dot') : whole, spec: undefined };
}

const specSource = (spec: string, cwd: string): Source => ({
  ...pipelineSource(pipelinePath(buildPipeline, cwd), cwd),
  spec,
});

function isSpec(path: string): boolean {
  const is = kindAt(path);
  return is === 'folder'
    ? mainFileOf(path) !== undefined
    : is === 'file' && specEnds.some((end) => path.endsWith(end));
}

/** `2-mail.md` comes before `10-login.md`. */
const byNumberedName = new Intl.Collator('en', { numeric: true }).compare;

function specsIn(name: string, cwd: string): Found {
  const folder = resolve(cwd, name);
  const files = readdirSync(folder)
    .filter((entry) => !entry.startsWith('.') && isSpec(join(folder, entry)))
    .sort(byNumberedName);
  if (files.length === 0)
    return no(
      `the folder ${name} has no specs`,
      `a spec is a file in it that ends with ${specEnds.join(', ')}, or a folder with spec.md or proposal.md`,
    );
  return { sources: files.map((file) => specSource(join(folder, file), cwd)) };
}
