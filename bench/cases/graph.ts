/** A large graph read and checked: by `validate`, and by a `runTool` that leaves almost all of it aside. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Case, figuresOf, memoryTarget, runPipeline, versus } from '../case.ts';
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
