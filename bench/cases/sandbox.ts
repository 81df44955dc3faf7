/** What the sandbox adds to a tiny node, beside a sandbox that hides nothing. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, type Case, factory, figuresOf, type Program, runPipeline, versus } from '../case.ts';
import { nodeTimes } from '../evidence.ts';
import { chain } from '../material.ts';
import { measure } from '../measure.ts';
import { stepsOf } from '../spread.ts';

const bare = 'bare bwrap';
const bareWords = ['--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev'];

export const sandbox: Case = {
  name: 'sandbox',
  title: ({ nodes }) => `${nodes} tool nodes of \`true\` in the sandbox, and without it`,
  rounds: [7, 1],
  prepare: (bench) => {
    const pipeline = join(bench.folder, 'chain.dot');
    const workdir = join(bench.folder, 'workdir');
    writeFileSync(pipeline, chain(bench.sizes.nodes));
    mkdirSync(workdir);
    const run = async (program: Program, id: string, word: string) => {
      const env = { ...bench.env, FACTORY_SANDBOX: word };
      const ran = await runPipeline({ ...bench, env }, program, { pipeline, workdir, id });
      const costs = stepsOf(nodeTimes(ran.runDir, bench.sizes.nodes));
      return { ran, mean: costs.reduce((sum, cost) => sum + cost, 0) / costs.length };
    };
    return {
      program: async (program, id) => {
        const without = await run(program, `${id}-none`, 'none');
        const within = await run(program, `${id}-bwrap`, 'bwrap');
        return {
          sample: { ...figuresOf(within.ran), node_ms: within.mean, sandbox_ms: within.mean - without.mean },
        };
      },
      beside: { [bare]: () => bareSandbox(bench) },
    };
  },
  comparisons: [
    { what: 'what the sandbox adds to a node', how: 'value', of: [factory, 'sandbox_ms'], limit: 8 },
    ...versus('sandbox_ms', 'node_ms', 'cpu_ms'),
  ],
};

/** The mean of fifty, each started by one shell. */
async function bareSandbox(bench: Bench) {
  const count = 50;
  const loop = (command: string) => [
    'sh',
    '-c',
    `i=0; while [ $i -lt ${count} ]; do ${command}; i=$((i+1)); done`,
  ];
  const within = await measure(loop(`bwrap ${bareWords.join(' ')} true`), bench);
  const without = await measure(loop('/bin/true'), bench);
  return { sample: { sandbox_ms: (within.wall_ms - without.wall_ms) / count } };
}
