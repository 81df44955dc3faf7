/** One work order onto a branch of a repository: `build.dot` on a copy, then the branch is moved to what it made. */
import { constants, Stats } from 'node:fs';
import { access, lstat, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { judgeExemption } from '../builder/exemption.ts';
import { endLanding, type Landing } from '../builder/landing.ts';
import type { LoadedOrder } from '../builder/orders.ts';
import type { Pushed } from '../builder/push.ts';
import { chooseBranch, commonGitDir, overlookedIn, type Repository } from '../builder/repository.ts';
import type { Bounds, Doors, Finished, Refusal, RunFlags } from '../factory.ts';
import { readPipeline, resumeRun, startRun } from '../factory.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { JsonObject } from '../model/json.ts';
import { readManifest } from '../store/run-store.ts';
import { DiskStop, isDisks } from '../system/disk-trouble.ts';
import { Superseded } from '../system/fence.ts';
import { isMissing, systemWords } from '../system/files.ts';
import { sourceGit } from '../system/git.ts';
import { ownCommit } from '../system/own-commit.ts';
import { packageRoot } from '../system/package.ts';
import type { Spawn } from '../system/spawn.ts';
import { makeTemporary } from '../system/temporary.ts';
import { checkDirs, isWithin } from '../workspace/dirs.ts';
import { guarded } from './guard.ts';
import { closeRecords, openRecords } from './records.ts';
import { writeSorted } from './report.ts';
import { type Request, readRequest, requestFile } from './request.ts';
import { settle } from './settle.ts';

/** A work order as it was read. */
export type Source = {
  readonly path: string;
  readonly sha256: string;
  readonly raw: JsonObject;
  readonly loaded: LoadedOrder;
};

/** What is asked for, beside the order itself. */
export type Wish = {
  readonly runId: string;
  readonly runsDir: string;
  /** Root of the artifact tree. */
  readonly artifacts: string;
  readonly out: string | undefined;
  readonly branch: string | undefined;
  /** The branch is one of our own naming, made for an earlier order of the same batch. */
  readonly auto?: boolean;
  readonly reuse: boolean;
  readonly create: boolean;
  readonly commit: string | undefined;
  readonly push: boolean;
  readonly allowExempt: boolean;
  readonly model: string;
  /** Undefined where nobody asked for one: then none is sent. */
  readonly temperature: number | undefined;
  readonly maxAttempts: number;
  readonly timeoutSeconds: number;
  readonly agent: string | undefined;
  readonly script: string | undefined;
  /** What the run may spend and reach, as far as somebody said so. */
  readonly bounds?: Bounds;
  readonly batch: string | null;
};

export type Told = {
  readonly run_id: string;
  readonly repo: string;
  readonly work_order_id: string;
  readonly verdict: 'PASS' | 'FAIL' | 'ERROR';
  readonly exit_code: number;
  readonly branch: string;
  readonly commit: string | null;
  readonly attempts: number;
  /** The stage at which the last attempt failed. */
  readonly stage: string | null;
  readonly reason: string;
  /** It has come to no end, and a resume goes on with it. */
  readonly resumable: boolean;
  readonly artifacts: string;
  readonly run_dir: string;
  readonly push: Pushed | null;
  readonly notes: readonly string[];
};

/** `code`: 1 for the state of the repository, 2 for what the engine refuses, its own where it has one (130 interrupted). */
export type Refused = { readonly problems: readonly Diagnostic[]; readonly code: number };
export const refused = (code: 1 | 2, problem: string, fix?: string): Refused => ({
  problems: [{ code: 'order', severity: 'error', message: problem, ...(fix === undefined ? {} : { fix }) }],
  code,
});

export type OrderDoors = Doors & { readonly spawn: Spawn };

/** The caller holds the repository's lock. A refusal leaves nothing behind. */
export async function runOrder(
  repo: Repository,
  source: Source,
  wish: Wish,
  doors: OrderDoors,
): Promise<Told | Refused> {
  const { loaded, raw } = source;
  const plannerRef = refOf(raw);
  const choice = await chooseBranch(
    repo,
    {
      name: wish.branch,
      reuse: wish.reuse,
      create: wish.create,
      commit: wish.commit,
      plannerRun: plannerRef?.planner_run_id,
      runId: wish.runId,
    },
    doors.env,
  );
  if ('problem' in choice) return refused(1, choice.problem, choice.fix);
  const hidden = await hiddenProblem(repo, choice.baseline, loaded.order.allowed_files, doors);
  if (hidden !== undefined) return hidden;
  const places = await placesProblem(repo, wish, doors);
  if (places !== undefined) return places;
  const notes: string[] = [];
  if (loaded.order.verify_exempt) {
    const exempt = await judgeExemption(raw, source.path, { allowed: wish.allowExempt });
    if ('problem' in exempt) return refused(1, exempt.problem);
    if (exempt.note !== undefined) notes.push(exempt.note);
  }
  const request: Request = {
    version: 1,
    run_id: wish.runId,
    repo: repo.top,
    work_order_path: source.path,
    work_order_sha256: source.sha256,
    work_order_id: loaded.order.id,
    digest: loaded.digest,
    branch: choice.branch,
    branch_mode: wish.auto === true ? 'auto' : choice.mode,
    branch_existed: choice.existed,
    starting_branch: repo.branch,
    baseline: choice.baseline,
    baseline_source: choice.source,
    baseline_requested: choice.requested,
    ...(wish.commit === undefined ? {} : { baseline_said: wish.commit }),
    push: wish.push,
    artifacts: artifactsOf(wish),
    out_dir: wish.out ?? null,
    planner_ref: plannerRef,
    model: wish.model,
    temperature: wish.temperature ?? 0,
    max_attempts: wish.maxAttempts,
    timeout_seconds: wish.timeoutSeconds,
    batch: wish.batch,
    started_at: doors.clock.now().toISOString(),
    program: await ownCommit(doors.env),
  };
  return guarded(request, doors.env, (gitDir) => begin(request, source, wish, notes, { ...doors, gitDir }));
}

async function begin(
  request: Request,
  { loaded, raw }: Source,
  wish: Wish,
  notes: readonly string[],
  doors: OrderDoors & { readonly gitDir: string | undefined },
): Promise<Told | Refused> {
  const asGiven = join(request.artifacts, 'work_order.input.json');
  await openRecords(request, loaded.order);
  await writeSorted(asGiven, raw);
  const flags: RunFlags = {
    ...wish.bounds,
    vars: {
      plan: asGiven,
      attempts: String(wish.maxAttempts),
      exempt: wish.allowExempt ? 'allow' : 'provenance',
    },
    envPass: [],
    allowDirty: false,
    acceptChanges: false,
    workdir: request.repo,
    base: request.baseline,
    redo: true,
    exclude: [wish.artifacts],
    commandTimeoutMs: wish.timeoutSeconds * 1000,
    model: wish.model,
    ...(wish.temperature === undefined ? {} : { temperature: wish.temperature }),
    keep: { [requestFile]: `${JSON.stringify(request, null, 2)}\n` },
    ...(wish.agent === undefined ? {} : { agent: wish.agent }),
    ...(wish.script === undefined ? {} : { script: wish.script }),
  };
  const pipeline = join(packageRoot(), 'pipelines', 'build.dot');
  const read = await readPipeline(pipeline, doors.cwd);
  const ended = await recorded(request, wish.runsDir, doors, async () =>
    read.graph === undefined
      ? { problems: read.found }
      : startRun(read.graph, { runsDir: wish.runsDir, runId: wish.runId }, flags, doors),
  );
  if ('problems' in ended) {
    // A run that is there by now is that of another process, and so are the artifacts.
    if (!(await isThere(join(wish.runsDir, wish.runId))))
      await rm(request.artifacts, { recursive: true, force: true });
    return { problems: ended.problems, code: ended.code ?? 2 };
  }
  return settle(request, ended, notes, doors);
}

/** Goes on with a run that was interrupted, or finishes what comes after its last stage. */
export async function resumeOrder(
  runDir: string,
  doors: OrderDoors & { readonly takeOver?: boolean },
  bounds: Bounds = {},
): Promise<Told | Refused> {
  const request = await readRequest(runDir);
  const manifest = await readManifest(runDir);
  if (!manifest.ok) return refused(1, manifest.why);
  const takeOver = doors.takeOver === true ? { takeOver: true } : {};
  const flags: RunFlags = {
    vars: {},
    envPass: [],
    allowDirty: false,
    acceptChanges: false,
    // The pipeline is a file of ours, which another version has another text of: nobody could accept it.
    keepsTexts: true,
    ...takeOver,
    ...bounds,
  };
  return guarded(request, doors.env, async (gitDir) => {
    const ended = await recorded(request, resolve(runDir, '..'), doors, () =>
      resumeRun(runDir, undefined, flags, doors),
    );
    if ('problems' in ended) return { problems: ended.problems, code: ended.code ?? 2 };
    return settle(request, ended, [], { ...doors, gitDir });
  });
}

/** An error of ours is in the records too, before it is ours to explain. */
async function recorded(
  request: Request,
  runsDir: string,
  doors: OrderDoors,
  act: () => Promise<Finished | Refusal>,
): Promise<Finished | Refusal> {
  try {
    return await act();
  } catch (error) {
    // Whoever has the run now tells of it.
    if (error instanceof Superseded) throw error;
    const why = error instanceof Error ? error : new Error(String(error));
    await closeRecords(request, join(runsDir, request.run_id), {
      verdict: 'ERROR',
      reason: why.message,
      traceback: why.stack ?? why.message,
      // With space again it goes on.
      interrupted: error instanceof DiskStop,
      tree: null,
      commits: [],
      push: null,
      finishedAt: doors.clock.now().toISOString(),
    }).catch((trouble: unknown) => {
      // A disk that is full keeps the records too: the first that it stopped says how the run goes on.
      if (!isDisks(trouble)) throw trouble;
    });
    throw error;
  }
}

/** Brings a run to its end that was killed while it landed; undefined where that cannot be done any more. */
export async function finishCut(cut: Landing, doors: OrderDoors): Promise<Told | undefined> {
  const there = await readRequest(cut.run_dir).catch(() => undefined);
  const told = there === undefined ? undefined : await resumeOrder(cut.run_dir, doors);
  if (told !== undefined && !('problems' in told)) return told;
  doors.log('warn', 'the records of a run that was cut while it landed cannot be closed', {
    run: cut.run_id,
  });
  const gitDir = await commonGitDir(cut.repo, doors.env);
  if (gitDir !== undefined) await endLanding(gitDir, [cut.repo, gitDir]);
  return undefined;
}

function refOf(raw: JsonObject): Request['planner_ref'] {
  const told = raw['provenance'];
  if (typeof told !== 'object' || told === null || Array.isArray(told)) return null;
  const text = (key: string): string | null => {
    const value = Object.entries(told).find(([name]) => name === key)?.[1];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const planner_run_id = text('planner_run_id');
  if (planner_run_id === null) return null;
  return { planner_run_id, compile_hash: text('compile_hash'), manifest_sha256: text('manifest_sha256') };
}

/** An order writes upon files as they stand, and its commit would lay open what somebody keeps out of all of his. Where it
 *  begins with another commit, so do the files. */
async function hiddenProblem(
  repo: Repository,
  baseline: string,
  files: readonly string[],
  { env }: OrderDoors,
): Promise<Refused | undefined> {
  if (baseline !== repo.head) return undefined;
  const found = await overlookedIn(sourceGit(repo.top, env), repo.top, files);
  if (found.length === 0) return undefined;
  return refused(
    1,
    `git is told to overlook changes to ${found.join(', ')} in ${repo.top}, and the work order would commit them`,
    'have git look at them again (git update-index --no-skip-worktree FILE, or --no-assume-unchanged FILE), then commit or stash them',
  );
}

/** Folders of ours must not make the repository dirty. */
async function placesProblem(repo: Repository, wish: Wish, doors: OrderDoors): Promise<Refused | undefined> {
  const dirs = checkDirs({ workdir: repo.top, runsdir: wish.runsDir });
  if (dirs !== undefined) return refused(1, dirs.message, dirs.fix);
  const inside = (path: string) => path === repo.top || path.startsWith(`${repo.top}${sep}`);
  if (wish.out !== undefined && inside(wish.out))
    return refused(1, `--out ${wish.out} lies in the repository`, 'name a folder outside it');
  for (const [flag, path] of [
    // First: where no other place is asked for, the artifacts lie beside it.
    ['--runsdir', wish.runsDir],
    ['--artifacts-dir', wish.artifacts],
  ] as const) {
    if (!inside(path) || path.startsWith(join(repo.top, '.factory', sep))) continue;
    const ignored = await sourceGit(repo.top, doors.env).run(['check-ignore', '-q', '--', join(path, 'x')]);
    if (!ignored.ok)
      return refused(
        1,
        `${flag} ${path} lies in the repository, where git does not ignore it`,
        'name a folder outside the repository',
      );
  }
  const closed =
    (await closedProblem('--artifacts-dir', wish.artifacts)) ??
    (wish.out === undefined ? undefined : await closedProblem('--out', wish.out));
  if (closed !== undefined) return closed;
  const copies = wish.out === undefined ? [] : [join(wish.out, wish.runId)];
  // What stands where the copy goes is taken away before it is made.
  const own = [artifactsOf(wish), join(wish.runsDir, wish.runId)].find((place) =>
    copies.some((copy) => isWithin(place, copy) || isWithin(copy, place)),
  );
  if (own !== undefined)
    return refused(1, `--out ${wish.out} would replace what the run keeps in ${own}`, 'name another folder');
  // What comes to an end, or is refused, clears up after itself there: it must all be its own. Artifacts without a summary
  // are those of a start that was killed.
  const ended = join(artifactsOf(wish), 'run_summary.json');
  for (const path of [ended, ...copies])
    if (await isThere(path))
      return refused(1, `there is ${path} already, and it is not this run's`, 'choose another --run-id');
  return undefined;
}

/** Why nothing could be put below `path`: the last of it that is there is no folder, or is closed to us. */
async function closedProblem(flag: string, path: string): Promise<Refused | undefined> {
  const refuse = (why: string) => refused(1, `${flag} ${path} cannot be made: ${why}`, 'name another folder');
  for (let at = path; ; at = dirname(at)) {
    const is = await stat(at).catch((error: unknown) => error);
    const isStat = is instanceof Stats;
    // A link that leads nowhere is there: no folder can be made in its place, and none where it leads.
    if (!isStat && isMissing(is) && !(await isThere(at)) && at !== dirname(at)) continue;
    if (!isStat)
      return refuse(`${at}: ${isMissing(is) ? 'it is a link that leads nowhere' : systemWords(is)}`);
    if (!is.isDirectory()) return refuse(`${at} is no folder`);
    const closed =
      (await access(at, constants.W_OK | constants.X_OK).catch((error: unknown) => error)) ??
      (at === path ? undefined : await noneWithin(at));
    return closed === undefined ? undefined : refuse(`${at}: ${systemWords(closed)}`);
  }
}

/** What comes of a new folder in `place`: some file systems of the system's own (`/proc`) are open and take none. */
async function noneWithin(place: string): Promise<unknown> {
  try {
    await rm(await makeTemporary(place, '.factory-place'), { recursive: true });
    return undefined;
  } catch (error) {
    return error;
  }
}

const artifactsOf = (wish: Wish): string => join(wish.artifacts, 'factory', wish.runId);

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
