/** How long the program takes to say its version: Node's own start, and what is loaded before the answer. */
import { type Case, factory, figuresOf } from '../case.ts';
import { measure } from '../measure.ts';

const empty = 'node -e 0';

export const version: Case = {
  name: 'version',
  title: () => '`--version` beside `node -e 0`',
  rounds: [15, 5],
  warmUps: 1,
  alone: true,
  prepare: (bench) => ({
    program: async (program) => ({ sample: figuresOf(await measure([...program.argv, '--version'], bench)) }),
    beside: { [empty]: async () => ({ sample: figuresOf(await measure([bench.node, '-e', '0'], bench)) }) },
  }),
  comparisons: [
    {
      what: `--version beyond ${empty}`,
      how: 'difference',
      of: [factory, 'wall_ms'],
      to: [empty, 'wall_ms'],
      limit: 30,
    },
  ],
};
