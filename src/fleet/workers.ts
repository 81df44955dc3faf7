/** The files of workers: each process that executes jobs says what it does, and its heartbeat that it lives. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import type { Clock } from '../core/contracts/clock.ts';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import { namesIn, readPlain } from '../platform/files/read.ts';
import { makeFolder } from '../platform/files/write.ts';
import { type Self, thisProcess } from '../platform/process/table.ts';
import { fleetLayout } from './layout.ts';
import { isProcessName, processName, seenFrom } from './process-name.ts';
import { type Signs, watchSigns } from './signs.ts';

/** How often a worker writes its file. */
export const heartbeatMs = 10_000;

const workerSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    name: z.string().describe('HOST~PID~START'),
    host: z.string(),
    pid: z.int().positive(),
    start: z.string().describe('Of the process, as the kernel counts'),
    boot: z.string().exactOptional(),
    pid_space: z.string().describe('Boot and pid namespace in which the pid counts'),
    since: z.string().describe('RFC 3339'),
    heartbeat: z.int().nonnegative().describe('Grows as long as the worker lives'),
    heartbeat_at: z.string().describe('RFC 3339, by the clock of its host; for people'),
    slots: z.int().nonnegative(),
    busy: z.int().nonnegative(),
    engine_starts: z
      .int()
      .nonnegative()
      .exactOptional()
      .describe('Runs that it has begun or resumed since it began'),
    take_overs: z
      .int()
      .nonnegative()
      .exactOptional()
      .describe('Jobs that it took from dead workers since it began'),
    refuses: z
      .string()
      .exactOptional()
      .describe('Why it takes nothing now, such as too little disk; else empty'),
    labels: z.array(z.string()).readonly().exactOptional().describe('Without them it takes any job'),
    version: z.string(),
    draining: z.boolean().describe('It takes no jobs any more, and ends when its engines have stopped'),
    leaves: z
      .record(z.string(), z.string())
      .describe('Runs that it cannot execute, each with the reason; a thousand at most'),
  }),
);
export type WorkerRecord = z.infer<ReturnType<typeof workerSchema>>;

/** What a worker says of itself besides who it is. */
export type WorkerFacts = Pick<
  WorkerRecord,
  | ('slots' | 'busy' | 'engine_starts' | 'take_overs' | 'refuses')
  | ('labels' | 'version' | 'draining' | 'leaves')
>;

/** The file of this worker. */
export interface WorkerFile {
  readonly name: string;
  /** Writes it, with a new heartbeat; to be called every `heartbeatMs` at least, and when a fact changes. */
  write(facts: WorkerFacts): void;
  /** Removes it: the worker has no jobs any more. */
  remove(): void;
}

/** Nothing is written before the first `write`. */
export function openWorkerFile(runsDir: string, self: Self, clock: Clock): WorkerFile {
  const { queue } = fleetLayout(runsDir);
  const name = processName(self);
  const path = queue.worker(name);
  const since = clock.now().toISOString();
  let heartbeat = 0;
  return {
    name,
    write(facts) {
      heartbeat += 1;
      const { host, id, pidSpace } = self;
      const record: WorkerRecord = {
        schema_version: 1,
        name,
        host,
        pid: id.pid,
        start: id.startTime,
        ...(id.boot === undefined ? {} : { boot: id.boot }),
        pid_space: pidSpace,
        since,
        heartbeat,
        heartbeat_at: clock.now().toISOString(),
        ...facts,
        leaves: Object.fromEntries(Object.entries(facts.leaves).slice(0, mostLeaves)),
      };
      makeFolder(queue.workers);
      // No other process has this name, and the next write replaces what a crash cuts off.
      writeFileSync(temporary(path), `${JSON.stringify(record, null, 2)}\n`);
      renameSync(temporary(path), path);
    },
    remove: () => removeWorkerFile(runsDir, name),
  };
}

const temporary = (path: string): string => `${path}.tmp`;

/** Removes the files of workers that have ended, except those that are still needed: who has a job of one on another host judges it by
 *  its file. */
export function removeDeadWorkers(
  runsDir: string,
  workers: Workers,
  isNeeded: (name: string) => boolean = () => false,
): void {
  for (const { name, standing } of workers.read())
    if (standing === 'dead' && !isNeeded(name)) removeWorkerFile(runsDir, name);
}

function removeWorkerFile(runsDir: string, name: string): void {
  const path = fleetLayout(runsDir).queue.worker(name);
  rmSync(path, { force: true });
  rmSync(temporary(path), { force: true });
}

/** A worker and whether it lives. `unknown`: on another host or in another container, and not watched for long enough. */
export type WorkerStanding = WorkerRecord & { readonly standing: 'alive' | 'dead' | 'unknown' };

export interface Workers {
  /** All workers that have a file, by name. */
  read(): readonly WorkerStanding[];
  /** Whether the process of that name lives, also one without a file. */
  standingOf(name: string): WorkerStanding['standing'];
}

/** Watches the workers of a runs directory. One on this host is judged by the table of processes; another one is dead after 60 s
 *  without a new heartbeat, by the clock of this process, so only an object that is asked again and again finds that out. */
export function watchWorkers(runsDir: string, clock: Clock, self: Self = thisProcess()): Workers {
  const { queue } = fleetLayout(runsDir);
  const signs = watchSigns(clock);
  return {
    read() {
      const all: WorkerStanding[] = [];
      for (const file of namesIn(queue.workers)) {
        const name = file.endsWith('.json') ? file.slice(0, -'.json'.length) : '';
        const record = isProcessName(name) ? readWorkerFile(queue.worker(name)) : undefined;
        if (record !== undefined)
          all.push({ ...record, standing: standingFrom(self, signs, name, () => record) });
      }
      return all;
    },
    standingOf: (name) => standingFrom(self, signs, name, () => readWorkerFile(queue.worker(name))),
  };
}

function standingFrom(
  self: Self,
  signs: Signs,
  name: string,
  record: () => WorkerRecord | undefined,
): WorkerStanding['standing'] {
  const seen = seenFrom(self, name);
  if (seen !== 'out of sight') return seen === 'alive' ? 'alive' : 'dead';
  const noted = signs.see(name, `${record()?.heartbeat}`);
  return noted === 'live' ? 'alive' : noted === 'silent' ? 'dead' : 'unknown';
}

/** Undefined for a missing file, and for one of another version. */
function readWorkerFile(path: string): WorkerRecord | undefined {
  const found = readPlain(path, mostOfWorker);
  return found.kind === 'text' ? workerSchema().safeParse(jsonIn(found.text)).data : undefined;
}

/** Most bytes of a worker's file. */
const mostOfWorker = 16 * 1_048_576;
/** So many runs that it leaves are named: a file that is too long is no sign of life. */
const mostLeaves = 1000;

/** The same once: a worker on another host is `unknown`. */
export const readWorkers = (runsDir: string, clock: Clock): readonly WorkerStanding[] =>
  watchWorkers(runsDir, clock).read();
