/** The setup commands of a project: those of the `factory.json` in the folder that a run copies, never of a run's own workspace. */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import type { Diagnostic, Refusal } from '../core/diagnostic.ts';
import type { Graph } from '../core/graph.ts';
import { workdirOf } from '../core/pipeline.ts';
import { commandProblem } from '../core/policy/commands.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { sha256 } from '../core/sha256.ts';
import { realOrSame } from '../workspace/roots.ts';
import { projectFor } from './model-servers.ts';
import { readProjectFile, userFileOf } from './project-file.ts';

/** The setup of runs that begin with this workdir; undefined for none. A `factory.json` further up is of a folder that the run does not
 *  have. */
export function setupFor(workdir: string, env: Environment): Manifest['setup'] | Refusal {
  const file = workdir === '' ? undefined : projectFor(workdir, userFileOf(env));
  if (file === undefined || realOrSame(dirname(file)) !== realOrSame(workdir)) return undefined;
  const read = readProjectFile(file, 'project');
  if ('found' in read) return { problems: read.found };
  const { setup: commands = [] } = read.content;
  const found = commands.flatMap((command, at): readonly Diagnostic[] => {
    const problem = commandProblem(command, 'private');
    if (problem === undefined) return [];
    const message = `"setup" has a command that is ${problem}`;
    const fix = 'name paths relative to the project';
    const place = read.placeOf(['setup', String(at)]);
    return [{ code: 'project-file', severity: 'error', message, place, fix }];
  });
  if (found.length > 0) return { problems: found };
  if (commands.length === 0) return undefined;
  return { path: file, sha256: sha256(JSON.stringify(commands)), commands };
}

/** The setup of a run that accepts what its workdir has now. One that is gone changes nothing. */
export const setupNow = (
  { original_workdir, setup }: Manifest,
  env: Environment,
): Manifest['setup'] | Refusal =>
  statSync(original_workdir, { throwIfNoEntry: false }) === undefined
    ? setup
    : setupFor(original_workdir, env);

/** The setup of runs of a pipeline that are given no workdir. */
export const setupAhead = (graph: Graph, cwd: string, env: Environment): Manifest['setup'] | Refusal =>
  setupFor(workdirOf(graph, {}, cwd) ?? '', env);

/** Whether the commands are others than those that the run keeps. A workdir that is gone has none. */
export function changedSetup({ original_workdir, setup }: Manifest, env: Environment): boolean {
  if (statSync(join(original_workdir, 'factory.json'), { throwIfNoEntry: false }) === undefined) return false;
  const now = setupFor(original_workdir, env);
  return now !== undefined && 'problems' in now ? true : now?.sha256 !== setup?.sha256;
}
