/** What a resume of `factory order run` is given and the run has otherwise: it goes on as it began. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { commitNamed } from '../builder/repository.ts';
import type { Request } from '../executor/request.ts';
import type { Manifest } from '../model/manifest.ts';
import { sha256 } from '../model/sha256.ts';
import { isWithin, realOrSame } from '../workspace/dirs.ts';
import { orderDefaults } from './order-flags.ts';
import type { OrderRunIo, OrderRunOptions } from './order-run.ts';

/** The first flag that is not as the run has it, in a sentence; undefined where none is. The default of a flag is no
 *  wish. */
export async function notAsBegun(
  options: OrderRunOptions,
  request: Request,
  { agent }: Manifest,
  { cwd, env }: Pick<OrderRunIo, 'cwd' | 'env'>,
): Promise<string | undefined> {
  const at = (path: string) => realOrSame(resolve(cwd, path));
  const { flags: said = {} } = agent;
  const hashOf = async (path: string) => sha256(await readFile(resolve(cwd, path)).catch(() => ''));
  const unless = (usual: number, given: number) => (given === usual ? undefined : given);
  const attempts = unless(orderDefaults.maxAttempts, options.maxAttempts);
  const seconds = unless(orderDefaults.timeoutSeconds, options.timeoutSeconds);
  const { commitHash } = options;
  // A name may stand at another commit by now.
  const isCommit =
    commitHash === request.baseline_said ||
    (commitHash !== undefined &&
      (await commitNamed(request.repo, commitHash, env)) === request.baseline_requested);
  const rows: readonly Row[] = [
    row('--repo', options.repo, request.repo, (path) => isWithin(request.repo, at(path))),
    row(
      '--work-order',
      options.workOrder,
      request.work_order_path,
      (path) => at(path) === realOrSame(request.work_order_path),
    ),
    row('--branch', options.branch, request.branch),
    row('--commit-hash', commitHash, request.baseline_requested, () => isCommit),
    row(
      options.llmModel === undefined ? '--model' : '--llm-model',
      options.llmModel ?? options.model,
      request.model,
    ),
    row('--llm-temperature', options.llmTemperature, request.temperature),
    row('--max-attempts', attempts, request.max_attempts),
    row('--timeout-seconds', seconds, request.timeout_seconds),
    row('--out', options.out, request.out_dir ?? 'none', (path) => at(path) === request.out_dir),
    row('--artifacts-dir', options.artifactsDir, request.artifacts, (path) =>
      isWithin(at(path), request.artifacts),
    ),
    row('--agent', options.agent, agent.name, (name) => [said.agent, agent.name].includes(name)),
  ];
  const { script } = options;
  if (script !== undefined && ![said.script_sha256, agent.script?.sha256].includes(await hashOf(script)))
    return `--script ${script} is not the run's`;
  const other = rows.find((one) => !one.same);
  if (other !== undefined) return `${other.flag} ${other.given} is not the run's, ${other.was}`;
  return !options.push && request.push ? "--no-push is not the run's, which pushes" : undefined;
}

type Row = {
  readonly flag: string;
  readonly given: string | number | undefined;
  readonly was: string | number;
  readonly same: boolean;
};

const row = <T extends string | number>(
  flag: string,
  given: T | undefined,
  was: T,
  isSame: (given: T) => boolean = (it) => it === was,
): Row => ({ flag, given, was, same: given === undefined || isSame(given) });
