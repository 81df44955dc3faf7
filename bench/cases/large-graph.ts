/** A row of as many nodes as `many-nodes` runs, checked; and the picture of a shorter one. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Case, figuresOf, memoryTarget, versus } from '../case.ts';
import { chain } from '../material.ts';
import { measure } from '../measure.ts';

const picture = 'factory graph of a fifth';

export const largeGraph: Case = {
  name: 'large-graph',
  title: ({ manyNodes }) => `a row of ${manyNodes} nodes checked, and the picture of ${manyNodes / 5}`,
  rounds: [3, 1],
  prepare: (bench) => {
    const { manyNodes } = bench.sizes;
    const pipeline = join(bench.folder, 'long.dot');
    const short = join(bench.folder, 'short.dot');
    const to = join(bench.folder, 'short.svg');
    writeFileSync(pipeline, chain(manyNodes));
    writeFileSync(short, chain(manyNodes / 5));
    return {
      program: async (program) => ({
        sample: figuresOf(await measure([...program.argv, 'validate', pipeline], bench)),
      }),
      beside: {
        [picture]: async () => ({
          sample: figuresOf(await measure([...bench.ours.argv, 'graph', short, '-o', to], bench)),
        }),
      },
    };
  },
  comparisons: [
    { what: `wall of ${picture}`, how: 'value', of: [picture, 'wall_ms'] },
    memoryTarget(400, picture),
    memoryTarget(205),
    ...versus('wall_ms', 'cpu_ms', 'peak_mib'),
  ],
};
