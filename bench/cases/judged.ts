/** A run with sealed scenarios: what its end pays for searching a large product for what is sealed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Case, factory, figuresOf, memoryTarget, runPipeline, versus } from '../case.ts';
import { nodeTimes } from '../evidence.ts';
import { chain, makeJudged } from '../material.ts';
import { measure } from '../measure.ts';

const hashPass = 'sha256 pass';

export const judged: Case = {
  name: 'judged',
  title: ({ judgedMib }) => `one tool node, ${judgedMib} MiB of text with sealed scenarios`,
  rounds: [3, 3],
  settle: true,
  prepare: (bench) => {
    const workdir = join(bench.folder, 'workdir');
    const pipeline = join(bench.folder, 'pipeline.dot');
    const script = join(bench.project, 'bench/baselines/hash-files.mjs');
    makeJudged(workdir, bench.sizes.judgedMib);
    writeFileSync(pipeline, chain(1));
    return {
      reads: workdir,
      program: async (program, id) => {
        const ran = await runPipeline(bench, program, { pipeline, workdir, id });
        nodeTimes(ran.runDir, 1);
        return { sample: figuresOf(ran) };
      },
      beside: {
        [hashPass]: async () => ({
          sample: { pass_ms: Number((await measure([bench.node, script, workdir], bench)).stdout) },
        }),
      },
    };
  },
  comparisons: [
    { what: `the run / ${hashPass}`, how: 'ratio', of: [factory, 'wall_ms'], to: [hashPass, 'pass_ms'] },
    memoryTarget(150),
    ...versus('wall_ms', 'cpu_ms', 'peak_mib'),
  ],
};
