/** Calls of the product by a scenario in the sandbox: what a further one costs. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Case, factory, figuresOf, type Program, versus } from '../case.ts';
import { measure } from '../measure.ts';

const counts = [20, 100] as const;

export const productCalls: Case = {
  name: 'product-calls',
  title: () => `a scenario in the sandbox with ${counts.join(' and with ')} calls of its product`,
  rounds: [5, 1],
  prepare: (bench) => {
    const app = join(bench.folder, 'app');
    mkdirSync(app);
    writeFileSync(join(app, 'app.sh'), 'exit 0\n');
    const scenarios = counts.map((count) => {
      const folder = join(bench.folder, `scenarios-${count}`);
      mkdirSync(folder);
      writeFileSync(join(folder, 'a_scenario.sh'), scenarioOf(count));
      return folder;
    });
    const env = { ...bench.env, FACTORY_SANDBOX: 'bwrap' };
    const run = ({ argv }: Program, folder = '') =>
      measure([...argv, 'scenario', 'run', folder, '--app', app, '--live', '--floor', 'false'], {
        ...bench,
        env,
      });
    return {
      program: async (program) => {
        const few = await run(program, scenarios[0]);
        const many = await run(program, scenarios[1]);
        const call_ms = (many.wall_ms - few.wall_ms) / (counts[1] - counts[0]);
        return { sample: { ...figuresOf(many), call_ms } };
      },
      beside: {},
    };
  },
  comparisons: [
    { what: 'a further call', how: 'value', of: [factory, 'call_ms'], limit: 40 },
    ...versus('call_ms', 'wall_ms'),
  ],
};

const scenarioOf = (count: number): string => `[ "$SCENARIO_MODE" = live ] || exit 0
i=0; while [ $i -lt ${count} ]; do "$APP_RUN" sh app.sh </dev/null || exit 1; i=$((i+1)); done
`;
