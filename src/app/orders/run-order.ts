/** One work order: `build.dot` on a copy of a repository, then its commits land on a branch. */
import { lstat, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Graph } from '../../core/graph.ts';
import { withGraphSettings } from '../../core/settings/typing.ts';
import { chooseBranch, ignoredChanges, type Repository } from '../../git/repository.ts';
import { makeFolder, systemWords } from '../../platform/files/write.ts';
import { sourceGit } from '../../platform/git.ts';
import { ownCommit } from '../../platform/own-commit.ts';
import { packageRoot } from '../../platform/package.ts';
import { judgeExemption } from '../../run/orders.ts';
import { checkDirs, isWithin } from '../../workspace/roots.ts';
import { readPipeline } from '../read-pipeline.ts';
import { resumeRun, startRun } from '../run/index.ts';
import type { Bounds, RunFlags } from '../types.ts';
import { writeSorted } from './attempts.ts';
import { landOrder, type OrderResult } from './land.ts';
import {
  type OrderRequest,
  type OrderSource,
  plannerReferenceSchema,
  readRequest,
  requestFile,
} from './sources.ts';
import { type OrderHost, type OrderRefusal, type OrderSettings, refusedOrder } from './types.ts';

/** Builds the order and lands its commits. The caller holds the repository's lock. A refusal leaves nothing behind. */
export async function runOrder(
  repo: Repository,
  source: OrderSource,
  settings: OrderSettings & { readonly runId: string },
  host: OrderHost,
): Promise<OrderResult | OrderRefusal> {
  const { raw, loaded } = source;
  const { order } = loaded;
  const planner_ref = plannerReferenceSchema().safeParse(raw['provenance']).data ?? null;
  const choice = await chooseBranch(
    repo,
    {
      ...{ name: settings.branch, reuse: settings.reuse, create: settings.create, commit: settings.commit },
      ...{ plannerRun: planner_ref?.planner_run_id, runId: settings.runId },
    },
    host.env,
  );
  if ('problem' in choice) return refusedOrder(1, choice.problem, choice.fix);
  if (choice.baseline === repo.head) {
    // The workspace has the changes, and the commit of the order would publish them.
    const ignored = await ignoredChanges(sourceGit(repo.top, host.env), repo.top, order.allowed_files);
    if (ignored.length > 0)
      return refusedOrder(
        1,
        `git is set to ignore changes to ${ignored.join(', ')}, which the work order may write`,
        'run git update-index --no-skip-worktree --no-assume-unchanged FILE, then commit or stash the changes',
      );
  }
  const exempt = order.verify_exempt
    ? await judgeExemption(raw, source.path, { allowed: settings.allowExempt })
    : { ok: true as const };
  if ('problem' in exempt) return refusedOrder(1, exempt.problem);
  const request: OrderRequest = {
    version: 1,
    run_id: settings.runId,
    repo: repo.top,
    work_order_path: source.path,
    work_order_sha256: source.sha256,
    work_order_id: order.id,
    digest: loaded.digest,
    branch: choice.branch,
    branch_mode: settings.auto === true ? 'auto' : choice.mode,
    branch_existed: choice.existed,
    starting_branch: repo.branch,
    baseline: choice.baseline,
    baseline_source: choice.source,
    baseline_requested: choice.requested,
    push: settings.push,
    artifacts: join(settings.artifacts, 'factory', settings.runId),
    out_dir: settings.out ?? null,
    planner_ref,
    model: settings.model,
    temperature: settings.temperature ?? 0,
    max_attempts: settings.maxAttempts,
    timeout_seconds: settings.timeoutSeconds,
    batch: settings.batch,
    started_at: host.clock.now().toISOString(),
    program: await ownCommit(host.env),
  };
  const unusable = await placesProblem(request, settings, host);
  if (unusable !== undefined) return unusable;
  return begin(request, source, settings, exempt.note === undefined ? [] : [exempt.note], host);
}

async function begin(
  request: OrderRequest,
  { raw, loaded }: OrderSource,
  settings: OrderSettings,
  notes: readonly string[],
  host: OrderHost,
): Promise<OrderResult | OrderRefusal> {
  const plan = join(request.artifacts, 'work_order.input.json');
  await writeSorted(plan, raw);
  await writeSorted(join(request.artifacts, 'work_order.json'), loaded.order);
  const flags: RunFlags = {
    ...settings.bounds,
    vars: {
      plan,
      attempts: String(request.max_attempts),
      exempt: settings.allowExempt ? 'allow' : 'provenance',
    },
    allowDirty: false,
    acceptChanges: false,
    workdir: request.repo,
    base: request.baseline,
    redo: true,
    exclude: [settings.artifacts],
    command_timeout: request.timeout_seconds * 1000,
    // Without one the start says that the provider has none.
    ...(request.model === '' ? {} : { model: request.model }),
    ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    keep: { [requestFile]: `${JSON.stringify(request, null, 2)}\n` },
    ...(settings.agent === undefined ? {} : { agent: settings.agent }),
    ...(settings.provider === undefined ? {} : { provider: settings.provider }),
    ...(settings.script === undefined ? {} : { agent_script: settings.script }),
  };
  const place = { runsDir: settings.runsDir, runId: request.run_id };
  const read = await readPipeline(join(packageRoot(), 'pipelines', 'build.dot'), host.cwd);
  const ended =
    read.graph === undefined
      ? { problems: read.found }
      : await startRun(withoutExample(read.graph, settings), place, flags, host);
  if (!('problems' in ended)) return landOrder(request, ended, notes, host);
  // The artifacts of another process's run with this id stay.
  if (!(await exists(join(place.runsDir, place.runId))))
    await rm(request.artifacts, { recursive: true, force: true });
  return { problems: ended.problems, code: ended.code ?? 2 };
}

/** The pipeline without the agent script that it bundles, whose answers are those of an example. */
function withoutExample(graph: Graph, { agent, script }: Pick<OrderSettings, 'agent' | 'script'>): Graph {
  if (script !== undefined || agent?.includes('scripted') === true) return graph;
  return withGraphSettings(graph, { agent_script: undefined });
}

/** Resumes an order's run, or completes what follows its last node. The caller holds the repository's lock. */
export async function resumeOrder(
  runDir: string,
  host: OrderHost,
  bounds: Bounds = {},
): Promise<OrderResult | OrderRefusal> {
  const request = await readRequest(runDir);
  const flags: RunFlags = {
    vars: {},
    allowDirty: false,
    acceptChanges: false,
    // Another version of this program has another `build.dot`, which a user cannot accept.
    keepsTexts: true,
    ...(host.takeOver === true ? { takeOver: true } : {}),
    ...bounds,
  };
  const ended = await resumeRun(resolve(runDir), undefined, flags, host);
  if ('problems' in ended) return { problems: ended.problems, code: ended.code ?? 2 };
  return landOrder(request, ended, [], host);
}

/** Checks that the directories of the run can be used and do not make the repository dirty; creates that of the artifacts. */
async function placesProblem(
  request: OrderRequest,
  { runsDir, artifacts, out }: OrderSettings,
  { env }: OrderHost,
): Promise<OrderRefusal | undefined> {
  const { repo } = request;
  const dirs = checkDirs({ workdir: repo, runsdir: runsDir });
  if (dirs !== undefined) return refusedOrder(1, dirs.message, dirs.fix);
  for (const [flag, path] of [
    ['--runsdir', runsDir],
    ['--artifacts-dir', artifacts],
    ['--out', out],
  ] as const) {
    if (path === undefined || !isWithin(repo, path) || isWithin(join(repo, '.factory'), path)) continue;
    const ignored = await sourceGit(repo, env).run(['check-ignore', '-q', '--', join(path, 'x')]);
    if (!ignored.ok)
      return refusedOrder(
        1,
        `${flag} ${path} is in the repository, and git does not ignore it`,
        'name a directory outside the repository',
      );
  }
  if (out !== undefined && [runsDir, join(artifacts, 'factory')].some((own) => isWithin(own, out)))
    return refusedOrder(1, `--out ${out} is a directory of runs or artifacts`, 'name another directory');
  const copy = out === undefined ? undefined : join(out, request.run_id);
  // A start that was killed leaves artifacts without a summary.
  for (const path of [join(request.artifacts, 'run_summary.json'), ...(copy === undefined ? [] : [copy])])
    if (await exists(path)) return refusedOrder(1, `${path} exists already`, 'choose another --run-id');
  for (const [flag, path] of [
    ['--artifacts-dir', request.artifacts],
    ...(out === undefined ? [] : ([['--out', out]] as const)),
  ] as const)
    try {
      makeFolder(path);
    } catch (error) {
      return refusedOrder(
        1,
        `${flag} ${path} cannot be created: ${systemWords(error)}`,
        'name another directory',
      );
    }
  return undefined;
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
