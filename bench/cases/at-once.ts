/** Many runs at once into one runs directory: each must come to its end with all of its nodes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Case,
  factory,
  figuresOf,
  type Measured,
  memoryTarget,
  type PipelineRun,
  type Quantity,
  runPipeline,
  type Sample,
  versus,
} from '../case.ts';
import { nodeTimes } from '../evidence.ts';
import { chain, makeTree } from '../material.ts';
import { Failed } from '../measure.ts';

const filesEach = 100;

export const atOnce: Case = {
  name: 'at-once',
  title: ({ atOnce, atOnceNodes }) =>
    `${atOnce} runs at once, of ${atOnceNodes} nodes over ${filesEach} files each`,
  rounds: [3, 2],
  prepare: (bench) => {
    const workdir = join(bench.folder, 'workdir');
    const pipeline = join(bench.folder, 'pipeline.dot');
    makeTree(workdir, filesEach);
    writeFileSync(pipeline, chain(bench.sizes.atOnceNodes));
    return {
      program: async (program, id) => {
        const start = performance.now();
        const runs = await Promise.allSettled(
          Array.from({ length: bench.sizes.atOnce }, (_, index) =>
            runPipeline(bench, program, { pipeline, workdir, id: `${id}-${index + 1}` }),
          ),
        );
        return measuredRuns(performance.now() - start, runs, bench.sizes.atOnceNodes);
      },
      beside: {},
    };
  },
  comparisons: [
    { what: 'runs lost', how: 'value', of: [factory, 'lost_n'], limit: 0 },
    memoryTarget(150),
    ...versus('wall_ms', 'cpu_ms', 'peak_mib'),
  ],
};

/** Peak memory is that of the largest run, processor time that of all. A run that ended well and has not all of its
 *  nodes on disk is as lost as one that failed; with one lost, only how many were is told: what the others took is
 *  no figure of the whole. */
function measuredRuns(
  wall_ms: number,
  runs: readonly PromiseSettledResult<PipelineRun>[],
  nodesEach: number,
): Measured {
  const lost: string[] = [];
  const figures: Sample[] = [];
  for (const run of runs) {
    try {
      if (run.status === 'rejected') throw run.reason;
      nodeTimes(run.value.runDir, nodesEach);
      figures.push(figuresOf(run.value));
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      lost.push(error.message);
    }
  }
  if (lost.length > 0)
    return {
      sample: { lost_n: lost.length },
      problem: `${lost.length} of ${runs.length} runs were lost. The first: ${lost[0]}`,
    };
  const of = (quantity: Quantity) => figures.flatMap((each) => each[quantity] ?? []);
  const peaks = of('peak_mib');
  const cpu = of('cpu_ms');
  return {
    sample: {
      wall_ms,
      ...(cpu.length > 0 ? { cpu_ms: cpu.reduce((sum, each) => sum + each, 0) } : {}),
      ...(peaks.length > 0 ? { peak_mib: Math.max(...peaks) } : {}),
      lost_n: 0,
    },
  };
}
