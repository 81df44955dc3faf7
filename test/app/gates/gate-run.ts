/** Runs with human gates, in this process. */
import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AnswerRequest, answerRun } from '../../../src/app/answer-run.ts';
import { resumeRun, startRun } from '../../../src/app/run/index.ts';
import type { Host, RunFlags } from '../../../src/app/types.ts';
import type { Clock } from '../../../src/core/contracts/clock.ts';
import type { Json } from '../../../src/core/json.ts';
import type { VisitRecord } from '../../../src/core/records/visit.ts';
import { removeTree } from '../../../src/platform/files/remove.ts';
import { openRun } from '../../../src/run/open-run.ts';
import { verifyRun } from '../../../src/verify/index.ts';
import { pipelineIn, plainFlags, quietDoors } from '../../support/host.ts';

/** A clock that only waits move. */
export function drivenClock() {
  let at = Date.parse('2026-03-01T00:00:00Z');
  const began = at;
  const clock: Clock & { pass(ms: number): void } = {
    now: () => new Date(at),
    monotonic: () => at - began,
    async sleep(ms, signal) {
      // Others get their turn: a wait of a day has many parts.
      await new Promise((resolve) => setImmediate(resolve));
      if (signal?.aborted !== true) at += ms;
    },
    pass(ms) {
      at += ms;
    },
  };
  return clock;
}

/** Nodes and edges between `start` and the exit `done`; tools succeed. */
export const gateGraph = (text: string): string => `digraph g { workdir="none"
  start [shape=Mdiamond]; done [shape=Msquare]
  ${text} }`;

export async function gateRun(dot: string, more: Partial<Host> = {}) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'factory-gate-')));
  const runDir = join(dir, 'runs', 'r1');
  const clock = drivenClock();
  const graph = await pipelineIn(dir, dot);
  const logged: string[] = [];
  const host: Host = {
    ...quietDoors(dir),
    clock,
    log: (_level, message) => logged.push(message),
    ...more,
  };
  const ended = async (run: ReturnType<typeof startRun>) => {
    const end = await run;
    if ('problems' in end) throw new Error(end.problems.map(({ message }) => message).join('\n'));
    return end;
  };
  const reader = openRun(runDir);
  return {
    dir,
    runDir,
    graph,
    host,
    clock,
    logged,
    start: (flags: Partial<RunFlags> = {}, at: Partial<Host> = {}) =>
      ended(
        startRun(
          graph,
          { runsDir: join(dir, 'runs'), runId: 'r1' },
          { ...plainFlags, ...flags },
          {
            ...host,
            ...at,
          },
        ),
      ),
    resume: (flags: Partial<RunFlags> = {}, at: Partial<Host> = {}) =>
      ended(resumeRun(runDir, graph, { ...plainFlags, ...flags }, { ...host, ...at })),
    answer: (request: Omit<AnswerRequest, 'from'> & { readonly from?: AnswerRequest['from'] }, of = runDir) =>
      answerRun(of, { from: 'command', by: 'Ada', ...request }, { clock, env: {} }),
    history() {
      const history = reader.history();
      if (!history.ok) throw new Error(history.why);
      return history;
    },
    visits(): readonly VisitRecord[] {
      return this.history().records.filter((record) => record.type === 'Visit');
    },
    path(): string {
      return this.visits()
        .map(({ node }) => node)
        .join(' ');
    },
    context(key: string): Json | undefined {
      return this.history().checkpoint.context[key];
    },
    problems: async (of = runDir) =>
      (await verifyRun({ runDir: of, env: { PATH: process.env['PATH'] } })).problems,
    [Symbol.asyncDispose]: () => removeTree(dir),
  };
}

/** The code of a refusal; undefined for an answer. */
export const refusalOf = (answered: Awaited<ReturnType<typeof answerRun>>): string | undefined =>
  'problems' in answered ? answered.problems[0]?.code : undefined;
