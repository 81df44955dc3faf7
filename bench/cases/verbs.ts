/** How soon each common verb has answered: all of it is start-up, as the run that they look at is small. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Case, factory, figuresOf, runPipeline, versus } from '../case.ts';
import { chain } from '../material.ts';
import { measure } from '../measure.ts';

const empty = 'node -e 0';

export const verbs: Case = {
  name: 'verbs',
  title: () => 'common verbs over one small run, beside `node -e 0`',
  rounds: [9, 2],
  warmUps: 1,
  prepare: (bench) => {
    const pipeline = join(bench.folder, 'chain.dot');
    const workdir = join(bench.folder, 'workdir');
    writeFileSync(pipeline, chain(3));
    mkdirSync(workdir);
    return {
      program: async (program, id) => {
        await runPipeline(bench, program, { pipeline, workdir, id });
        const runs = ['--runsdir', join(bench.folder, `runs-${program.name}`)];
        const timed = async (...words: string[]) =>
          (await measure([...program.argv, ...words], bench)).wall_ms;
        const help = await measure([...program.argv, '--help'], bench);
        return {
          sample: {
            ...figuresOf(help),
            help_ms: help.wall_ms,
            validate_ms: await timed('validate', pipeline),
            runs_ms: await timed('runs', ...runs),
            show_ms: await timed('show', id, ...runs),
            logs_ms: await timed('logs', id, ...runs),
            verify_ms: await timed('verify', id, ...runs),
          },
        };
      },
      beside: { [empty]: async () => ({ sample: figuresOf(await measure([bench.node, '-e', '0'], bench)) }) },
    };
  },
  comparisons: [
    { what: `--help beyond ${empty}`, how: 'difference', of: [factory, 'help_ms'], to: [empty, 'wall_ms'] },
    ...versus('help_ms', 'validate_ms', 'runs_ms', 'show_ms', 'logs_ms', 'verify_ms'),
  ],
};
