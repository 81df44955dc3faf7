/** A large graph read and checked: by `validate`, and by a `runTool` that leaves almost all of it aside; and not read by who names the
 *  run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Case, factory, figuresOf, memoryTarget, runPipeline, versus } from '../case.ts';
import { detour } from '../material.ts';
import { measure } from '../measure.ts';

const validate = 'factory validate';

export const graph: Case = {
  name: 'graph',
  title: ({ graphNodes }) => `a graph of ${graphNodes} nodes, two edges from each, read and checked`,
  rounds: [5, 3],
  prepare: (bench) => {
    const workdir = join(bench.folder, 'workdir');
    const pipeline = join(bench.folder, 'pipeline.dot');
    mkdirSync(workdir);
    writeFileSync(pipeline, detour(bench.sizes.graphNodes));
    return {
      program: async (program, id) => ({
        sample: figuresOf(await runPipeline(bench, program, { pipeline, workdir, id })),
      }),
      beside: {
        [validate]: async () => ({
          sample: figuresOf(await measure([...bench.ours.argv, 'validate', pipeline], bench)),
        }),
      },
    };
  },
  comparisons: [
    { what: `wall of ${validate}`, how: 'value', of: [validate, 'wall_ms'], limit: 800 },
    memoryTarget(150, validate),
    memoryTarget(150),
    ...versus('wall_ms', 'cpu_ms', 'peak_mib'),
  ],
};

export const namedRuns: Case = {
  name: 'named-runs',
  title: ({ manyNodes }) => `a run that has executed two of ${manyNodes} nodes: its name in lists and logs`,
  rounds: [5, 2],
  prepare: (bench) => {
    const workdir = join(bench.folder, 'workdir');
    const pipeline = join(bench.folder, 'pipeline.dot');
    mkdirSync(workdir);
    writeFileSync(pipeline, detour(bench.sizes.manyNodes));
    const made = new Map<string, ReturnType<typeof runPipeline>>();
    return {
      program: async (program) => {
        const one = made.get(program.name) ?? runPipeline(bench, program, { pipeline, workdir, id: 'large' });
        made.set(program.name, one);
        const runs = ['--runsdir', dirname((await one).runDir)];
        const timed = (...words: string[]) => measure([...program.argv, ...words, ...runs], bench);
        const listed = await timed('runs');
        const logs = await timed('logs', 'large', '--last', '20');
        return { sample: { ...figuresOf(listed), runs_ms: listed.wall_ms, logs_ms: logs.wall_ms } };
      },
      beside: {},
    };
  },
  comparisons: [
    { what: '`runs`', how: 'value', of: [factory, 'runs_ms'], limit: 120 },
    { what: '`logs --last 20`', how: 'value', of: [factory, 'logs_ms'], limit: 120 },
    ...versus('runs_ms', 'logs_ms', 'cpu_ms', 'peak_mib'),
  ],
};
