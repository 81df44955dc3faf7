/** Puts runs into the queue. Everything is checked as `factory run` does it before anything is queued; then all are, or none. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { thisUser } from '../app/acts.ts';
import { titleIn } from '../app/inspect/title.ts';
import { type ReadPipeline, readPipeline } from '../app/read-pipeline.ts';
import { type CheckedStart, checkStart, dirsProblem } from '../app/run/index.ts';
import { flagWords } from '../app/typed-command.ts';
import type { Host, RunFlags } from '../app/types.ts';
import type { JobQueue, JobTarget } from '../core/contracts/job-queue.ts';
import { type Diagnostic, type Refusal, refused } from '../core/diagnostic.ts';
import { dueTime } from '../core/due-time.ts';
import type { Job, QueuedJob } from '../core/records/job.ts';
import type { SubmitReport } from '../core/records/queue-report.ts';
import { readWorkers } from '../fleet/workers.ts';
import { makeRunsDir, newRunIdProblem, newRunIds } from '../run/runs.ts';
import { labelWords, takesLabels } from './held-back.ts';
import { settingsOf, type TypedFlags, variableWords, withEnvironment, wordsOf } from './passed-flags.ts';
import { type Source, sourcesOf } from './sources.ts';

/** What a user submits, and with which flags. */
export type SubmitRequest = {
  /** Pipelines, specs, folders of specs. */
  readonly names: readonly string[];
  readonly flags: TypedFlags;
  readonly vars: Readonly<Record<string, string>>;
  readonly strict: boolean;
  readonly allowDirty: boolean;
  /** A commit of the workdir to begin with, without changes of its files. */
  readonly base?: string | undefined;
  /** Id of the run whose sealed scenarios judge. */
  readonly holdoutOf?: string | undefined;
  readonly notify?: string | undefined;
  readonly priority: number;
  /** As typed. */
  readonly notBefore?: string | undefined;
  /** The run id; by default a new one. */
  readonly key?: string | undefined;
  /** Each run begins when the one before it has left the queue. */
  readonly inOrder: boolean;
};

export type SubmitHost = Pick<Host, 'cwd' | 'env' | 'clock'> & { readonly runsDir: string };

/** A job that may be queued. */
export type CheckedJob = { readonly job: Job; readonly target: JobTarget };

export type CheckedJobs = {
  readonly jobs: readonly CheckedJob[];
  /** Of each pipeline: what may be wrong with its text. */
  readonly found: readonly ReadPipeline[];
  readonly warnings: readonly string[];
};

/** Makes the jobs; answers with all that is wrong. Nothing is written. */
export async function checkedJobs(request: SubmitRequest, host: SubmitHost): Promise<CheckedJobs | Refusal> {
  const { cwd, env, clock } = host;
  const now = clock.now();
  const due = request.notBefore === undefined ? undefined : dueTime(request.notBefore, now);
  if (due !== undefined && 'problem' in due) return refused('usage', `--not-before: ${due.problem}`, due.fix);
  const named = sourcesOf(request.names, cwd);
  if ('problems' in named) return named;
  const { sources } = named;
  const alone = onlyForOne(request, sources.length);
  if (alone !== undefined) return alone;
  const ids = request.key === undefined ? newRunIds(clock, sources.length) : [request.key];
  const pipelines = new Map<string, ReadPipeline>();
  const starts = new Map<string, CheckedStart>();
  const problems = new Map<string, Diagnostic>();
  const warnings = new Set<string>();
  const jobs: CheckedJob[] = [];
  for (const [at, source] of sources.entries()) {
    const { pipeline } = source;
    const read =
      pipelines.get(pipeline) ?? (await readPipeline(pipeline, cwd, { strict: request.strict, env }));
    pipelines.set(pipeline, read);
    const id = ids[at] ?? '';
    const made = await checkedRun(source, read, { id, before: starts.get(pipeline) }, request, host);
    if ('problems' in made) {
      for (const one of made.problems) problems.set(`${one.code} ${one.message}`, one);
      continue;
    }
    starts.set(pipeline, made.start);
    for (const warning of made.warnings) warnings.add(warning);
    const job: Job = {
      ...{ schema_version: 1, run_id: id, title: made.title, priority: request.priority },
      ...{ submitted_at: now.toISOString(), submitted_by: thisUser() },
      ...{ labels: made.labels, request: made.request },
    };
    jobs.push(placed(job, request.inOrder ? ids[at - 1] : undefined, due?.at));
  }
  if (problems.size > 0) return { problems: [...problems.values()] };
  return { jobs, found: [...pipelines.values()], warnings: [...warnings] };
}

/** What several runs cannot share. */
function onlyForOne({ key, flags: { name } }: SubmitRequest, many: number): Refusal | undefined {
  const flag = key !== undefined ? '--key' : name !== undefined ? '--name' : undefined;
  if (many < 2 || flag === undefined) return undefined;
  return refused(
    'usage',
    `${flag} is for one run, and these are ${many}`,
    `submit them one by one, or leave out ${flag}`,
  );
}

/** Where the job begins: behind another, asleep, or due. */
function placed(job: Job, after: string | undefined, due: Date | undefined): CheckedJob {
  const at = job.submitted_at;
  const until = due?.toISOString();
  const sleeps =
    until === undefined
      ? undefined
      : { kind: 'not_before' as const, text: 'submitted for this time', at, until };
  if (after !== undefined)
    return {
      job: { ...job, after, reason: { kind: 'after', text: `in order behind ${after}`, at } },
      target: 'held',
    };
  if (sleeps === undefined || until === undefined) return { job, target: 'now' };
  return { job: { ...job, reason: sleeps }, target: { dueAt: until } };
}

type CheckedRun = Pick<Job, 'title' | 'labels' | 'request'> & {
  readonly warnings: readonly string[];
  readonly start: CheckedStart;
};

/** Checks the run of one source, and gives the words that begin and resume it. */
async function checkedRun(
  { named, spec }: Source,
  { graph, found }: ReadPipeline,
  { id: runId, before }: { readonly id: string; readonly before: CheckedStart | undefined },
  request: SubmitRequest,
  host: SubmitHost,
): Promise<CheckedRun | Refusal> {
  if (graph === undefined) return { problems: found.filter(({ severity }) => severity === 'error') };
  const { cwd, env, runsDir } = host;
  const given = withEnvironment(request.flags, env, graph);
  if ('problems' in given) return given;
  const { strict, allowDirty, notify, base, holdoutOf: holdout_of } = request;
  const vars = { ...request.vars, ...(spec === undefined ? {} : { spec }) };
  const begins = {
    ...(base === undefined ? {} : { base, exact: true }),
    ...(holdout_of === undefined ? {} : { holdout_of }),
  };
  const flags: RunFlags = { ...settingsOf(given.flags), ...begins, vars, allowDirty, acceptChanges: false };
  const dirs = dirsProblem(graph, flags, { cwd, runsDir });
  if (dirs !== undefined) return dirs;
  const start = await checkStart(graph, { runsDir, runId }, flags, host, { before });
  if ('problems' in start) return start;
  const words = [...variableWords(vars, graph, cwd), ...wordsOf(given.flags, cwd)];
  const run = [named, ...words, ...flagWords({ strict, allow_dirty: allowDirty, base, holdout_of, notify })];
  return {
    title: flags.name ?? titleIn(graph?.settings.label ?? '', start.inputs.files['spec'], spec ?? named),
    labels: [...new Set(flags.labels)].sort(),
    request: { cwd, run, resume: flagWords({ notify }) },
    warnings: given.warnings,
    start,
  };
}

/** Checks what is submitted, and queues it. `shown` gets the pipelines before anything is queued. */
export async function submitRuns(
  queue: JobQueue,
  request: SubmitRequest,
  host: SubmitHost,
  shown: (found: readonly ReadPipeline[]) => void,
): Promise<SubmitReport | Refusal> {
  const { runsDir, clock } = host;
  const report = { schema_version: 1 as const, runs_dir: runsDir, place: queue.place, warnings: [] };
  const known = request.key === undefined ? undefined : await knownRun(queue, request.key, runsDir);
  if (known !== undefined && 'problems' in known) return known;
  if (known !== undefined) return { ...report, runs: [known] };
  const checked = await checkedJobs(request, host);
  if ('problems' in checked) return checked;
  shown(checked.found);
  const workers = readWorkers(runsDir, clock).filter(({ standing }) => standing !== 'dead');
  const untaken = checked.jobs.find(({ job }) => !workers.some((worker) => takesLabels(worker, job.labels)));
  if (untaken !== undefined && workers.length > 0)
    return refused(
      'queue-label',
      `no worker takes ${labelWords(untaken.job.labels)}`,
      `start one that does: factory keep --labels ${untaken.job.labels.join(',')}; or leave out --label`,
    );
  await makeRunsDir(runsDir);
  const added = await queue.submit(checked.jobs);
  const runs = checked.jobs.map(({ job, target }, at) => ({
    ...{ run_id: job.run_id, title: job.title, already: added[at] !== true },
    ...{ state: stateOf(target), due_at: typeof target === 'object' ? target.dueAt : null },
  }));
  const alone = workers.length === 0 ? ['no worker runs: factory keep starts one'] : [];
  return { ...report, runs, warnings: [...checked.warnings, ...alone] };
}

const stateOf = (target: JobTarget): QueuedJob['state'] =>
  target === 'now' ? 'waiting' : target === 'held' ? 'held' : 'later';

/** The run or the job with this key; undefined if the key is new. */
async function knownRun(
  queue: JobQueue,
  key: string,
  runsDir: string,
): Promise<SubmitReport['runs'][number] | Refusal | undefined> {
  const bad = newRunIdProblem(key);
  if (bad !== undefined)
    return refused('usage', `--key: ${bad}`, 'for example --key nightly-1; or leave it out');
  const queued = await queue.get(key);
  if (queued !== undefined) {
    const { job, state } = queued;
    const due_at = state === 'later' ? queued.due_at : null;
    return { run_id: key, title: job.title, state, due_at, already: true };
  }
  if (!existsSync(join(runsDir, key))) return undefined;
  return { run_id: key, title: '', state: 'begun', due_at: null, already: true };
}
