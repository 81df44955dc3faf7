/** What a worker does next with its slots and its engines. Pure. */
import { sizeWords } from '../core/amounts.ts';

/** A job of the worker. `settling`: to be looked at; `starting`: its engine has not begun the run yet. */
export type KeptJob = {
  readonly runId: string;
  readonly phase: 'settling' | 'starting' | 'running';
  /** How its engine was asked to stop. */
  readonly asked: 'no' | EngineStop;
};

/** `start`: before it has begun; `after_node`: when the nodes that are executed now have finished. */
export type EngineStop = 'start' | 'after_node' | 'at_once';

export type WorkFacts = {
  /** Of the monotonic clock in milliseconds, as all times here. */
  readonly now: number;
  readonly slots: number;
  readonly jobs: readonly KeptJob[];
  /** Since when the worker ends, and whether its engines are to stop at once. */
  readonly drain: { readonly since: number; readonly atOnce: boolean } | undefined;
  readonly drainTimeoutMs: number;
  /** Jobs that have to be put back when a node of theirs ends. */
  readonly overdue: readonly string[];
  readonly freeBytes: number;
  readonly minFreeBytes: number;
  /** Engines could not be started: until then none is. */
  readonly pausedUntil: number;
};

export type WorkerPlan = {
  /** How many jobs to take. */
  readonly most: number;
  /** Why it takes none although it has a free slot; empty otherwise. */
  readonly refuses: string;
  readonly stops: readonly { readonly runId: string; readonly how: EngineStop }[];
  /** It has ended: nothing is left to wait for. */
  readonly isOver: boolean;
};

export function planWork(facts: WorkFacts): WorkerPlan {
  const { slots, jobs, drain } = facts;
  const refuses = drain === undefined ? whyNone(facts) : '';
  const most = drain === undefined && refuses === '' ? Math.max(0, slots - jobs.length) : 0;
  return { most, refuses, stops: stopsNow(facts), isOver: drain !== undefined && jobs.length === 0 };
}

function whyNone({ now, freeBytes, minFreeBytes, pausedUntil }: WorkFacts): string {
  if (freeBytes < minFreeBytes)
    return `only ${sizeWords(freeBytes)} of disk space are free, less than --min-free ${sizeWords(minFreeBytes)}`;
  return now < pausedUntil ? 'engines cannot be started' : '';
}

/** Strength of a request to stop: a stronger one follows a weaker one. */
const strength: Readonly<Record<KeptJob['asked'], number>> = { no: 0, start: 1, after_node: 1, at_once: 2 };

function stopsNow({ now, jobs, drain, drainTimeoutMs, overdue }: WorkFacts): WorkerPlan['stops'] {
  const atOnce = drain !== undefined && (drain.atOnce || now - drain.since >= drainTimeoutMs);
  return jobs.flatMap(({ runId, phase, asked }) => {
    if (phase === 'settling' || (drain === undefined && !overdue.includes(runId))) return [];
    const how = phase === 'starting' ? 'start' : atOnce ? 'at_once' : 'after_node';
    return strength[how] > strength[asked] ? [{ runId, how }] : [];
  });
}
