/** Runs over a workspace of many files: what a node pays for knowing what has changed, and the copy before it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Case, factory, figuresOf, memoryTarget, runPipeline, versus } from '../case.ts';
import { copiedAt, nodeTimes } from '../evidence.ts';
import { chain, makeTree } from '../material.ts';
import { measure } from '../measure.ts';
import { measuredRun } from './nodes.ts';

const hashPass = 'sha256 pass';
const archive = 'cp -a';

export const files: Case = {
  name: 'files',
  title: ({ files, fileNodes }) => `${fileNodes} tool nodes over ${files} files`,
  rounds: [3, 3],
  settle: true,
  prepare: (bench) => {
    const { files, fileNodes } = bench.sizes;
    const workdir = join(bench.folder, 'workdir');
    const pipeline = join(bench.folder, 'pipeline.dot');
    const script = join(bench.project, 'bench/baselines/hash-files.mjs');
    makeTree(workdir, files);
    writeFileSync(pipeline, chain(fileNodes));
    return {
      reads: workdir,
      program: async (program, id) => {
        const ran = await runPipeline(bench, program, { pipeline, workdir, id });
        return measuredRun(figuresOf(ran), nodeTimes(ran.runDir, fileNodes));
      },
      beside: {
        [hashPass]: async () => ({
          sample: { pass_ms: Number((await measure([bench.node, script, workdir], bench)).stdout) },
        }),
      },
    };
  },
  comparisons: [
    {
      what: `a node / ${hashPass}`,
      how: 'ratio',
      of: [factory, 'node_ms'],
      to: [hashPass, 'pass_ms'],
      limit: 0.6,
    },
    memoryTarget(150),
    ...versus('node_ms', 'wall_ms', 'cpu_ms', 'peak_mib'),
  ],
};

export const copy: Case = {
  name: 'copy',
  title: ({ copyFiles }) =>
    `copy of ${copyFiles} files, from the program's start to the last file in its place`,
  rounds: [3, 3],
  settle: true,
  prepare: (bench) => {
    const workdir = join(bench.folder, 'workdir');
    const copies = join(bench.folder, 'copies');
    const pipeline = join(bench.folder, 'pipeline.dot');
    const paths = makeTree(workdir, bench.sizes.copyFiles);
    mkdirSync(copies);
    writeFileSync(pipeline, chain(1));
    return {
      reads: workdir,
      program: async (program, id) => {
        const ran = await runPipeline(bench, program, { pipeline, workdir, id });
        nodeTimes(ran.runDir, 1);
        const copy_ms = copiedAt(join(ran.runDir, 'workspace'), paths) - ran.startedAt;
        return { sample: { copy_ms, ...figuresOf(ran) } };
      },
      beside: {
        [archive]: async (id) => ({
          sample: {
            copy_ms: (await measure(['cp', '-a', workdir, join(copies, id)], bench)).wall_ms,
          },
        }),
      },
    };
  },
  comparisons: [
    {
      what: `copy / ${archive}`,
      how: 'ratio',
      of: [factory, 'copy_ms'],
      to: [archive, 'copy_ms'],
      limit: 1.3,
    },
    memoryTarget(150),
    ...versus('copy_ms', 'wall_ms', 'cpu_ms'),
  ],
};
