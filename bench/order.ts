/** Which way round the other program wants its command line. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, type Program, runPipeline } from './case.ts';
import { nodeTimes } from './evidence.ts';
import { chain } from './material.ts';
import { Failed } from './measure.ts';

/** Tries a run of one node with the flags before the pipeline, where every flag parser takes them, then after it.
 *  A program that manages neither is left as it is: its cases will say why. */
export async function withItsOrder(program: Program, bench: Bench): Promise<Program> {
  const pipeline = join(bench.folder, 'pipeline.dot');
  const workdir = join(bench.folder, 'workdir');
  writeFileSync(pipeline, chain(1));
  mkdirSync(workdir);
  for (const pipelineFirst of [false, true]) {
    const candidate = { ...program, pipelineFirst };
    const id = pipelineFirst ? 'pipeline-first' : 'flags-first';
    try {
      nodeTimes((await runPipeline(bench, candidate, { pipeline, workdir, id })).runDir, 1);
      return candidate;
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
    }
  }
  return program;
}
