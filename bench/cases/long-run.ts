/** A long run: its resume with two executions left, the end of its log, its verification, and what is shown of it. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, type Case, factory, figuresOf, type Program, runPipeline, versus } from '../case.ts';
import { nodeTimes } from '../evidence.ts';
import { chain, nodeName } from '../material.ts';
import { measure } from '../measure.ts';

export const longRun: Case = {
  name: 'long-run',
  title: ({ manyNodes }) =>
    `a run of ${manyNodes} executions: resumed with two left, its last 20 events, verified, shown`,
  rounds: [3, 1],
  prepare: (bench) => {
    const count = bench.sizes.manyNodes;
    const pipeline = join(bench.folder, 'chain.dot');
    const workdir = join(bench.folder, 'workdir');
    const runs = join(bench.folder, 'stopped');
    writeFileSync(pipeline, chain(count));
    mkdirSync(workdir);
    mkdirSync(runs);
    const stopped = new Map<string, Promise<string>>();
    return {
      program: async (program, id) => {
        const begun = stopped.get(program.name) ?? stoppedRun(bench, program, { pipeline, workdir }, count);
        stopped.set(program.name, begun);
        const copies = join(runs, id);
        cpSync(await begun, join(copies, 'long'), { recursive: true, preserveTimestamps: true });
        const timed = async (...words: string[]) =>
          measure([...program.argv, ...words, '--runsdir', copies], bench);
        const resumed = await timed('resume', 'long');
        nodeTimes(join(copies, 'long'), count);
        const logs = await timed('logs', 'long', '--last', '20');
        const verified = await timed('verify', 'long');
        const shown = await timed('show', 'long');
        const why = await timed('why', 'long');
        return {
          sample: {
            ...figuresOf(resumed),
            resume_ms: resumed.wall_ms,
            logs_ms: logs.wall_ms,
            verify_ms: verified.wall_ms,
            show_ms: shown.wall_ms,
            why_ms: why.wall_ms,
          },
        };
      },
      beside: {},
    };
  },
  comparisons: [
    { what: 'resume with two executions left', how: 'value', of: [factory, 'resume_ms'], limit: 1500 },
    { what: '`logs --last 20`', how: 'value', of: [factory, 'logs_ms'], limit: 100 },
    { what: '`why`', how: 'value', of: [factory, 'why_ms'], limit: 200 },
    ...versus('resume_ms', 'logs_ms', 'verify_ms', 'show_ms', 'why_ms', 'peak_mib'),
  ],
};

/** The run directory of a run that was stopped with two executions left. */
async function stoppedRun(
  bench: Bench,
  program: Program,
  what: { readonly pipeline: string; readonly workdir: string },
  count: number,
): Promise<string> {
  const env = { ...bench.env, ATTRACTION_TEST_STOP_AFTER_NODE: nodeName(count - 2) };
  const { runDir } = await runPipeline({ ...bench, env, mayFail: true }, program, { ...what, id: 'long' });
  nodeTimes(runDir, count - 2);
  return runDir;
}
