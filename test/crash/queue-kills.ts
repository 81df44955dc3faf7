/** Faults in processes that work on a queue, and what the queue must be afterwards. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import { openFolderQueue } from '../../src/fleet/folder-queue.ts';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { thisProcess } from '../../src/platform/process/table.ts';
import { handClock } from '../support/clock.ts';
import { type Action, random } from './faults/plan.ts';
import { steps, storyJob } from './queue-story.ts';
import { turns } from './queue-work.ts';

/** Builds the process under test in the repository, so that it finds its packages; answers its path. */
export async function buildActor(root: string): Promise<string> {
  const outfile = join(root, `.queue-actor.${process.pid}.mjs`);
  await build({
    entryPoints: [join(root, 'test/crash/queue-actor.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    logLevel: 'warning',
  });
  return outfile;
}

const folderNamed = (name: string): string => mkdtempSync(join(tmpdir(), `factory-${name}-`));

/** Calls the story with a fault at its k-th operation; `done` counts the calls that had ended. */
function storyWithFault(actor: string, runsDir: string, point?: { k: number; action: Action }) {
  const records = folderNamed('crash');
  const { stdout, stderr, status } = spawnSync(process.execPath, [actor, 'story', runsDir], {
    encoding: 'utf8',
    env: {
      CRASH_FOLDER: records,
      ...(point === undefined ? {} : { CRASH_POINT: `engine:any:${point.k}:${point.action}` }),
      CRASH_SEED: String(point?.k ?? 1),
    },
  });
  const operations = readFileSync(join(records, 'engine.ops'), 'utf8').trimEnd().split('\n');
  rmSync(records, { recursive: true, force: true });
  return { done: stdout.split('\n').length - 1, operations, stderr, status };
}

/** The operations of the story without a fault. */
export function storyOperations(actor: string): readonly string[] {
  const runsDir = folderNamed('queue');
  const { operations, done, stderr } = storyWithFault(actor, runsDir);
  rmSync(runsDir, { recursive: true, force: true });
  if (done !== steps.length) throw new Error(`the story ended after ${done} calls: ${stderr}`);
  return operations;
}

/** What is wrong with a queue whose process had a fault at its k-th operation; empty where nothing is. */
export async function wrongAfter(actor: string, k: number, action: Action): Promise<readonly string[]> {
  const runsDir = folderNamed('queue');
  const { done } = storyWithFault(actor, runsDir, { k, action });
  const clock = { ...handClock(), sleep: realClock.sleep };
  const queue = openFolderQueue(runsDir, { clock, worker: thisProcess() });
  const nothing = { most: 9, mostOfLabel: {}, leaves: new Set(['a', 'b', 'c', 'd']) };
  // What the process left is found at the first call and put in order at the second.
  await queue.claim(nothing);
  clock.advance(6000);
  await queue.claim(nothing);
  const wrong = [...(await wrongStates(queue, done, action)), ...(await wrongEnds(queue))];
  await queue.close();
  rmSync(runsDir, { recursive: true, force: true });
  return wrong;
}

async function wrongStates(queue: JobQueue, done: number, action: Action): Promise<readonly string[]> {
  const listed = await queue.list();
  const found = new Map(listed.map(({ job, state }) => [job.run_id, state]));
  const wrong: string[] = [];
  if (found.size !== listed.length) wrong.push(`doubled: ${listed.map(({ job }) => job.run_id).join()}`);
  for (const id of ['a', 'b', 'c', 'd']) {
    const state = found.get(id);
    const lasting = steps.slice(0, done).findLastIndex((step) => step.lasting.includes(id));
    const from = action === 'power' ? lasting + 1 : done;
    const possible = [{}, ...steps.map(({ states }) => states)].slice(from, done + 2);
    const allowed = possible.map((states: Readonly<Record<string, string>>) => states[id]);
    if (!allowed.includes(state)) wrong.push(`${id} is ${state}, not ${allowed.join(' or ')}`);
  }
  if (done === 0 && new Set(['a', 'b', 'c'].map((id) => found.has(id))).size > 1)
    wrong.push(`a part of a submission: ${[...found.keys()].join()}`);
  return wrong;
}

/** Every job can be taken once, and finished. */
async function wrongEnds(queue: JobQueue): Promise<readonly string[]> {
  const before = (await queue.list()).map(({ job }) => job.run_id).sort();
  const all = { most: 9, mostOfLabel: { l: 9 }, leaves: new Set<string>() };
  const got = (await queue.takeOver(all)).map(({ job }) => job.run_id);
  for (const id of before) await queue.change(id, { target: 'now' });
  got.push(...(await queue.claim(all)).map(({ job }) => job.run_id));
  for (const id of got) await queue.finish(id);
  const left = (await queue.list()).map(({ job }) => job.run_id);
  const wrong = got.sort().join() === before.join() ? [] : [`of ${before.join()} were taken ${got.join()}`];
  return left.length === 0 ? wrong : [...wrong, `left: ${left.join()}`];
}

/** A worker of another host is frozen for longer than its jobs wait for it, and wakes: what it prints then, and what the queue has. */
export async function afterFreeze(actor: string) {
  const runsDir = folderNamed('queue');
  const clock = { ...handClock(), sleep: realClock.sleep };
  const queue = openFolderQueue(runsDir, { clock, worker: thisProcess() });
  await queue.submit(['a', 'b'].map((id) => ({ job: storyJob(id), target: 'now' })));
  const stranger = spawn(process.execPath, [actor, 'stranger', runsDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: stranger.stdout })[Symbol.asyncIterator]();
  const ended = once(stranger, 'close');
  await lines.next();
  stranger.kill('SIGSTOP');
  const all = { most: 1, mostOfLabel: {}, leaves: new Set<string>() };
  const early = await queue.takeOver(all);
  clock.advance(120_000);
  const late = await queue.takeOver(all);
  stranger.kill('SIGCONT');
  const lost: unknown = (await lines.next()).value;
  await ended;
  const left = (await queue.list()).map(({ job, state }) => [job.run_id, state]);
  const rest = await queue.takeOver(all);
  await queue.close();
  rmSync(runsDir, { recursive: true, force: true });
  const idsOf = (jobs: typeof late) => jobs.map(({ job }) => job.run_id);
  return { early: idsOf(early), late: idsOf(late), lost, left, rest: idsOf(rest) };
}

export type KillLoop = {
  readonly kills: number;
  readonly jobs: number;
  readonly workers: number;
  readonly seed: number;
  readonly db?: string;
};

/** Kills workers at random while they work; answers what went wrong, and how many kills there were. */
export async function killLoop(actor: string, given: KillLoop) {
  const ground = folderNamed('kills');
  for (const name of ['has', 'steps', 'ended']) mkdirSync(join(ground, name));
  const runsDir = join(ground, 'runs');
  const chance = random(given.seed);
  const queue = await openQueue(runsDir, { clock: realClock, env: {}, db: given.db });
  if ('problems' in queue) throw new Error(JSON.stringify(queue.problems));
  const ids = Array.from({ length: given.jobs }, (_, at) => `${at % 3 === 0 ? 'l' : 'x'}${at}`);
  const env = { ...process.env, ...(given.db === undefined ? {} : { CRASH_DB: given.db }) };
  let started = 0;
  const start = (): ChildProcess =>
    spawn(process.execPath, [actor, 'worker', runsDir, ground, String(given.seed + started++)], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  const workers = Array.from({ length: given.workers }, start);
  let kills = 0;
  for (let at = 0; at < ids.length || (await queue.list()).length > 0; ) {
    const next = ids.slice(at, at + 8);
    at += next.length;
    const jobs = next.map((id) => storyJob(id, id.startsWith('l') ? ['l'] : []));
    if (jobs.length > 0) await queue.submit(jobs.map((job) => ({ job, target: 'now' })));
    await realClock.sleep(100 + chance() * 250);
    if (kills >= given.kills) continue;
    const which = Math.floor(chance() * workers.length);
    const victim = workers[which];
    const gone = victim === undefined ? undefined : once(victim, 'exit');
    victim?.kill('SIGKILL');
    await gone;
    kills += 1;
    workers[which] = start();
  }
  writeFileSync(join(ground, 'stop'), '');
  await Promise.all(workers.map((worker) => worker.exitCode ?? once(worker, 'exit')));
  await queue.close();
  const path = join(ground, 'wrong');
  const wrong = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
  const marks = readdirSync(join(ground, 'steps'));
  for (const id of ids)
    if (marks.filter((name) => name.startsWith(`${id}.`)).length < turns) wrong.push(`${id} is lost`);
  const left = readdirSync(join(runsDir, 'queue'), { recursive: true, encoding: 'utf8' });
  wrong.push(...left.filter((name) => /^(?:wait|later|held|run|submitted|aside)\/.*\.json/.test(name)));
  rmSync(ground, { recursive: true, force: true });
  return { wrong, kills };
}
