/** `factory order run` and `factory order run-all`: work orders onto a branch of a repository. */
import { realpath, stat } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import type { Landing } from '../builder/landing.ts';
import { orderFiles } from '../builder/orders.ts';
import { pushCommand, pushTrouble } from '../builder/push.ts';
import { inspect } from '../builder/repository.ts';
import { raisedLimit } from '../engine/caps.ts';
import { type BatchTold, type Item, runBatch, type Teller } from '../executor/batch.ts';
import { holding } from '../executor/hold.ts';
import { findRequest } from '../executor/request.ts';
import {
  finishCut,
  type OrderDoors,
  type Refused,
  refused,
  resumeOrder,
  runOrder,
  type Told,
  type Wish,
} from '../executor/run.ts';
import { readSources } from '../executor/source.ts';
import { anothers } from '../factory/whose.ts';
import { quoteWord } from '../policy/words.ts';
import { findRun, namedRun, newRunId, readManifest, validRunId } from '../store/run-store.ts';
import { DiskStop, diskTrouble } from '../system/disk-trouble.ts';
import type { Spawn } from '../system/spawn.ts';
import { asCalled } from './called.ts';
import { paints } from './io.ts';
import { notAsBegun } from './order-as-begun.ts';
import { defaultModel } from './order-flags.ts';
import { painter } from './print.ts';
import { refuse } from './refuse.ts';
import { type BoundOptions, boundsOf, checkedBounds } from './run.ts';
import { diskWords } from './trouble.ts';
import { openView, type ViewIo, type ViewOptions } from './view.ts';

/** Options as they stand on the command line; only what was given, and commander's defaults. */
export type OrderRunOptions = ViewOptions &
  Omit<BoundOptions, 'wait' | 'now' | 'parkAfter'> & {
    readonly repo?: string;
    readonly workOrder?: string;
    readonly workdir?: string;
    readonly out?: string;
    readonly artifactsDir?: string;
    readonly runsdir?: string;
    readonly runId?: string;
    readonly resume?: boolean;
    /** Of a resume: see `RunFlags`. */
    readonly wait?: boolean;
    readonly now?: boolean;
    readonly takeOver?: boolean;
    readonly maxAttempts: number;
    readonly llmModel?: string;
    readonly llmTemperature?: number;
    readonly model?: string;
    readonly timeoutSeconds: number;
    readonly commitHash?: string;
    readonly branch?: string;
    readonly reuseBranch?: boolean;
    readonly createBranch?: boolean;
    readonly push: boolean;
    readonly allowVerifyExempt?: boolean;
    readonly python?: string;
    readonly agent?: string;
    readonly script?: string;
    readonly json?: boolean;
  };

export type OrderRunIo = ViewIo & {
  readonly spawn: Spawn;
  readonly signal: () => AbortSignal;
};

/** Carries out one work order; a plan with several is a batch. Answers with the exit code. */
export async function orderRun(options: OrderRunOptions, io: OrderRunIo): Promise<number> {
  const wrong = wrongFlags(options);
  if (wrong !== undefined) return settle(wrong, options, io);
  if (options.resume === true)
    return settle(await resume(options, io, await doorsOf(options, io)), options, io);
  if (options.repo === undefined || options.workOrder === undefined)
    return settle(refused(2, 'order run needs --repo and --work-order'), options, io);
  const sources = await readSources(resolve(io.cwd, options.workOrder));
  if ('problems' in sources) return settle(sources, options, io);
  // Not before: a pipe that nobody writes into is waited for until a signal ends us, which the doors would only take note of.
  const doors = await doorsOf(options, io);
  if (options.runId !== undefined && sources.length > 1) {
    const why = `--run-id names one run, and ${options.workOrder} holds ${sources.length} work orders, each with a run of its own`;
    return settle(refused(2, why, 'leave out --run-id; each run is told with its order'), options, io);
  }
  const repo = resolve(io.cwd, options.repo);
  const wish = await wishOf(options, io, repo, null);
  const [source] = sources;
  const act = async (cut: Landing | undefined): Promise<Told | Refused | BatchEnd> => {
    const finished = cut === undefined ? undefined : await finishCut(cut, doors);
    // What was asked for is what that run has done.
    const same = sources.length === 1 && cut?.digest === source?.loaded.digest;
    if (same && finished !== undefined && (wish.branch ?? finished.branch) === finished.branch)
      return finished;
    tellOfCut(finished, options, io);
    if (source === undefined || sources.length > 1) {
      const items = sources.map((one) => ({ name: one.loaded.order.id, read: async () => one }));
      const batch = resolve(io.cwd, options.workOrder ?? '');
      return runBatch(repo, items, { ...wish, batch }, doors, tellerOf(options, io, items.length));
    }
    const there = await inspect(repo, io.env);
    if ('problem' in there) return refused(1, there.problem, there.fix);
    const runId = options.runId ?? newRunId(io.clock);
    const taken = await idProblem(runId, wish.runsDir, io.cwd);
    return taken ?? runOrder(there, source, { ...wish, runId }, doors);
  };
  const told = holding(repo, doors, act);
  return settle(await (sources.length > 1 ? ofBatch(told, options, io) : told), options, io);
}

/** Carries out every `WO-*.json` of a folder onto one branch. Answers with the exit code. */
export async function orderRunAll(options: OrderRunOptions, io: OrderRunIo): Promise<number> {
  const doors = await doorsOf(options, io);
  const wrong = wrongFlags(options);
  if (wrong !== undefined) return settle(wrong, options, io);
  if (options.repo === undefined || options.workdir === undefined)
    return settle(refused(2, 'order run-all needs --repo and --workdir'), options, io);
  const folder = resolve(io.cwd, options.workdir);
  const is = await stat(folder).catch(() => undefined);
  if (is?.isDirectory() !== true)
    return settle(refused(1, `the folder ${folder} does not exist`, 'name one with --workdir'), options, io);
  const names = await orderFiles(folder);
  if (names.length === 0)
    return settle(refused(1, `there are no work orders (WO-*.json) in ${folder}`), options, io);
  const items: Item[] = names.map((name) => ({
    name,
    read: async () => {
      const found = await readSources(join(folder, name), 'listed');
      if ('problems' in found) return found;
      const [source] = found;
      return source === undefined || found.length > 1
        ? refused(1, `${name} holds several work orders`)
        : source;
    },
  }));
  if (options.json !== true && options.quiet !== true) io.out(`Found ${items.length} work order(s)\n`);
  const repo = resolve(io.cwd, options.repo);
  const wish = await wishOf(options, io, repo, await realpath(folder));
  const told = holding(repo, doors, async (cut) => {
    if (cut !== undefined) tellOfCut(await finishCut(cut, doors), options, io);
    return runBatch(repo, items, wish, doors, tellerOf(options, io, items.length));
  });
  return settle(await ofBatch(told, options, io), options, io);
}

/** What the disk stops is the whole batch, whichever order it was at. From a commit that was named each begins anew. */
async function ofBatch<T>(work: Promise<T>, options: OrderRunOptions, { called }: OrderRunIo): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const trouble = diskTrouble(error);
    const same = called?.again;
    if (trouble === undefined || same === undefined || options.commitHash !== undefined) throw error;
    const what = error instanceof DiskStop ? error.message : diskWords(trouble);
    throw new DiskStop(what, `mend that (space, permissions, the disk or its mount), then: ${same}`, error);
  }
}

type BatchEnd = BatchTold | (Refused & { readonly orders: BatchTold['orders'] });

async function resume(options: OrderRunOptions, io: OrderRunIo, doors: OrderDoors): Promise<Told | Refused> {
  if (options.runId === undefined)
    return refused(2, '--resume needs --run-id', 'factory order run --resume --run-id ID');
  const found = await findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), options.runId);
  if (!found.ok) return refused(2, found.why);
  const request = await findRequest(found.dir);
  if (request === undefined)
    return refused(
      2,
      `${options.runId} was not started by "factory order run"`,
      `factory resume ${namedRun(found.dir, io.cwd)}`,
    );
  const read = await readManifest(found.dir);
  if (!read.ok) return refused(1, read.why);
  const other = await notAsBegun(options, request, read.manifest, io);
  if (other !== undefined)
    return refused(
      2,
      `the run of an order goes on as it began: ${other}`,
      'leave out the flag, or begin a new run',
    );
  // One that has ended too: what is left of it, the landing, is written into a repository.
  const theirs = anothers(found.dir);
  if (theirs !== undefined) return { problems: theirs.problems, code: 2 };
  const wanted = { ...doors, takeOver: options.takeOver === true };
  return holding(request.repo, wanted, async (cut) => {
    if (cut !== undefined && cut.run_id !== request.run_id)
      tellOfCut(await finishCut(cut, doors), options, io);
    return resumeOrder(resolve(io.cwd, found.dir), wanted, checkedBounds(options));
  });
}

function wrongFlags(options: OrderRunOptions): Refused | undefined {
  if (options.maxAttempts < 1) return refused(1, '--max-attempts must be at least 1');
  if (options.timeoutSeconds <= 0) return refused(1, '--timeout-seconds must be more than 0');
  if (options.reuseBranch === true && options.createBranch === true)
    return refused(1, '--reuse-branch and --create-branch exclude each other', 'give one of them');
  if ((options.reuseBranch === true || options.createBranch === true) && options.branch === undefined)
    return refused(1, '--reuse-branch and --create-branch need --branch', '--branch NAME');
  const { model, llmModel } = options;
  if (model !== undefined && llmModel !== undefined && model !== llmModel)
    return refused(
      2,
      `two models are named: --llm-model ${llmModel} and --model ${model}`,
      'give one of them',
    );
  const resumes = (['takeOver', 'now'] as const).find((name) => options[name] === true);
  if (resumes !== undefined && options.resume !== true) {
    const flag = resumes === 'now' ? '--now' : '--take-over';
    return refused(2, `${flag} goes with --resume`, `factory order run --resume --run-id ID ${flag}`);
  }
  const bounds = boundsOf(options);
  return 'problems' in bounds ? { ...bounds, code: 2 } : undefined;
}

async function idProblem(runId: string, runsDir: string, cwd: string): Promise<Refused | undefined> {
  const bad = validRunId(runId);
  if (bad !== undefined) return refused(2, bad);
  const there = await stat(join(runsDir, runId)).catch(() => undefined);
  return there === undefined
    ? undefined
    : refused(
        2,
        `there is a run "${runId}" in ${runsDir} already`,
        `factory order run --resume --run-id ${namedRun(join(runsDir, runId), cwd)}`,
      );
}

async function wishOf(
  options: OrderRunOptions,
  io: OrderRunIo,
  repo: string,
  batch: string | null,
): Promise<Omit<Wish, 'runId'>> {
  const runsDir = await placed(resolve(io.cwd, options.runsdir ?? '.factory/runs'));
  const named = options.artifactsDir ?? (io.env['ARTIFACTS_DIR'] || undefined);
  const usual = await placed(resolve(io.cwd, 'artifacts'));
  // In the repository itself the usual place would make its tree dirty.
  const inside = usual.startsWith(`${await placed(repo)}${sep}`);
  return {
    runsDir,
    artifacts:
      named !== undefined
        ? await placed(resolve(io.cwd, named))
        : inside
          ? join(runsDir, '..', 'artifacts')
          : usual,
    out: options.out === undefined ? undefined : await placed(resolve(io.cwd, options.out)),
    branch: options.branch,
    reuse: options.reuseBranch === true,
    create: options.createBranch === true,
    commit: options.commitHash,
    push: options.push,
    allowExempt: options.allowVerifyExempt === true,
    model:
      options.llmModel ??
      options.model ??
      (io.env['FACTORY_MODEL'] || io.env['OPENAI_MODEL'] || defaultModel),
    temperature: options.llmTemperature,
    maxAttempts: options.maxAttempts,
    timeoutSeconds: options.timeoutSeconds,
    agent: options.agent,
    script: options.script,
    bounds: checkedBounds(options),
    batch,
  };
}

/** The real path, as far up as something is there. */
async function placed(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined) return real;
  const above = resolve(path, '..');
  return above === path ? path : join(await placed(above), basename(path));
}

async function doorsOf(options: OrderRunOptions, io: OrderRunIo): Promise<OrderDoors> {
  const view = await openView(options, io);
  if (options.python !== undefined)
    view.log('info', '--python is not needed: commands run with the PATH as it is');
  return {
    cwd: io.cwd,
    env: io.env,
    clock: io.clock,
    signal: io.signal(),
    watcher: view.watcher,
    log: view.log,
    spawn: io.spawn,
    ...(io.called === undefined ? {} : { called: io.called }),
  };
}

function tellerOf(options: OrderRunOptions, io: OrderRunIo, count: number): Teller {
  const out = options.json === true || options.quiet === true ? () => {} : io.out;
  return {
    begins: (at, name, title) => out(`[${at}/${count}] ${name}: ${title}\n`),
    skips: (commit) => out(`  already committed: ${commit.slice(0, 12)}\n`),
    ends: (told) => tell(told, options, io),
  };
}

/** Tells the end, and answers with its exit code. */
async function settle(
  ended: Told | Refused | BatchEnd,
  options: OrderRunOptions,
  io: OrderRunIo,
): Promise<number> {
  if ('problems' in ended) {
    // Of a batch that stops amid its orders, what was done before stays done.
    const done = 'orders' in ended ? { orders: ended.orders } : {};
    await refuse(ended.problems, io, options, ended.code, done);
    return ended.code;
  }
  if (options.json === true) io.out(`${JSON.stringify({ schema_version: 1, ...ended }, null, 2)}\n`);
  if ('verdict' in ended) {
    if (options.json !== true) tell(ended, options, io);
    if (goesOn(ended.exit_code) || ended.resumable) io.err(`${again(ended, options, io)}\n`);
    return ended.exit_code;
  }
  const last = ended.orders.at(-1);
  if (options.json !== true && options.quiet !== true) {
    const done = ended.orders.filter((order) => !order.skipped).length;
    if (ended.exit_code === 0 && done === 0) io.out('Nothing to do: every work order is committed already\n');
    else if (ended.exit_code === 0)
      io.out(`All ${ended.orders.length} work order(s) passed on ${ended.branch}\n`);
    else io.out(`Stopped ${whereStopped(last)} (exit code ${ended.exit_code})\n`);
  }
  if (!goesOn(ended.exit_code)) return ended.exit_code;
  // The run that was cut is but one order of several. From a commit that was named each batch begins anew.
  const cut = last !== undefined && !last.skipped && last.exit_code !== 0 ? last : undefined;
  const same = io.called?.again;
  if (cut !== undefined && options.commitHash !== undefined) io.err(`${again(cut, options, io)}\n`);
  else io.err(`go on with ${same === undefined ? 'the same command again' : `it: ${same}`}\n`);
  return ended.exit_code;
}

function whereStopped(last: BatchTold['orders'][number] | undefined): string {
  if (last === undefined) return 'before the first work order';
  return `${last.skipped || last.exit_code === 0 ? 'after' : 'at'} ${last.name}`;
}

/** What did not go well with a run that had been cut, and that this one has brought to its end. */
function tellOfCut(told: Told | undefined, options: OrderRunOptions, io: OrderRunIo): void {
  if (told === undefined) return;
  const what = `run ${told.run_id} was cut while it landed on "${told.branch}"`;
  if (told.exit_code !== 0) io.err(`WARNING: ${what}, and does not come to its end: ${told.reason}\n`);
  warn(told, options, io);
}

function warn(told: Told, options: OrderRunOptions, io: OrderRunIo): void {
  for (const note of told.notes) io.err(`WARNING: ${asCalled(note, io.called?.program)}\n`);
  if (told.push !== null && !told.push.ok && told.push.remote !== '') {
    const why = pushTrouble(told.push.stderr);
    const by = pushCommand(options.repo ?? told.repo, told.push, told.branch);
    io.err(`WARNING: not pushed (${why}); by hand: ${by}\n`);
  }
}

function tell(told: Told, options: OrderRunOptions, io: OrderRunIo): void {
  warn(told, options, io);
  if (options.json === true) return;
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  const good = told.exit_code === 0;
  if (options.quiet !== true || !good) {
    const row = (name: string, text: string) => io.out(`  ${`${name}:`.padEnd(14)} ${text}\n`);
    row('Work order', told.work_order_id);
    row('Attempts', String(told.attempts));
    if (good) row('Branch', told.branch);
    if (told.commit !== null && good) row('Commit', told.commit.slice(0, 12));
    if (told.push?.remote === '') row('Pushed to', '(the repository has no remote)');
    if (told.push?.ok === true) row('Pushed to', told.push.remote);
    if (!good && told.stage !== null) row('Stage', told.stage);
    if (!good) row('Reason', told.reason);
    row('Artifacts', told.artifacts);
    row('Run', told.run_dir);
  }
  // The order is carried out, and its branch did not move.
  const stays = told.verdict === 'PASS' && !good;
  const colour = stays || told.verdict === 'ERROR' ? paint.yellow : good ? paint.green : paint.red;
  io.out(`  Verdict: ${colour(stays ? 'PASS, but not landed' : told.verdict)}\n`);
}

/** Interrupted or parked. */
const goesOn = (code: number): boolean => code === 130 || code === 75;

/** What a person types to go on. */
function again(told: Told, options: OrderRunOptions, { called }: OrderRunIo): string {
  const runs = options.runsdir === undefined ? '' : ` --runsdir ${quoteWord(options.runsdir)}`;
  const raised = raisedLimit(told.reason);
  return asCalled(
    `go on with it: factory order run --resume --run-id ${told.run_id}${runs}${raised === undefined ? '' : ` ${raised}`}`,
    called?.program,
  );
}
