/** Branches that wait, beside one that does; and what the folder of a branch costs over many files. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Case, factory, figuresOf, memoryTarget, runPipeline } from '../case.ts';
import { makeTree } from '../material.ts';

const one = 'one branch';

/** A fan-out to `count` branches of one node each. */
const fan = (count: number, command: string): string => {
  const ids = Array.from({ length: count }, (_, n) => `b${n}`);
  return `digraph fan {
  start [shape=Mdiamond]
  fan [shape=component, max_parallel=${count}]
${ids.map((id) => `  ${id} [shape=parallelogram, tool_command="${command}"]`).join('\n')}
  join [shape=tripleoctagon]
  done [shape=Msquare]
  start -> fan
${ids.map((id) => `  fan -> ${id}\n  ${id} -> join`).join('\n')}
  join -> done [condition="outcome=success"]
}
`;
};

export const branches: Case = {
  name: 'branches',
  title: ({ branches: count, branchSleep }) =>
    `${count} branches that sleep ${branchSleep} s, side by side, and one`,
  rounds: [3, 1],
  alone: true,
  prepare: (bench) => {
    const workdir = join(bench.folder, 'workdir');
    makeTree(workdir, 100);
    const { branches: count, branchSleep } = bench.sizes;
    const run = async (branchCount: number, id: string) => {
      const pipeline = join(bench.folder, `${branchCount}.dot`);
      writeFileSync(pipeline, fan(branchCount, `sleep ${branchSleep}`));
      return { sample: figuresOf(await runPipeline(bench, bench.ours, { pipeline, workdir, id })) };
    };
    return {
      program: (_program, id) => run(count, id),
      beside: { [one]: (id) => run(1, `${id}-one`) },
    };
  },
  comparisons: [
    { what: 'all branches / one', how: 'ratio', of: [factory, 'wall_ms'], to: [one, 'wall_ms'], limit: 1.3 },
    memoryTarget(150),
  ],
};

/** Branches of the case about files. */
const withFiles = 4;

export const branchFiles: Case = {
  name: 'branch-files',
  title: ({ files }) => `${withFiles} branches over ${files} files`,
  rounds: [3, 1],
  alone: true,
  prepare: (bench) => {
    const workdir = join(bench.folder, 'workdir');
    makeTree(workdir, bench.sizes.files);
    const run = async (count: number, id: string) => {
      const pipeline = join(bench.folder, `${count}.dot`);
      writeFileSync(pipeline, fan(count, 'true'));
      return runPipeline(bench, bench.ours, { pipeline, workdir, id });
    };
    return {
      program: async (_program, id) => {
        const [few, many] = [await run(1, `${id}-1`), await run(withFiles, id)];
        const more = (many.cpu_ms ?? 0) - (few.cpu_ms ?? 0);
        return { sample: { ...figuresOf(many), branch_ms: more / (withFiles - 1) } };
      },
      beside: {},
    };
  },
  comparisons: [
    { what: 'processor of one more branch', how: 'value', of: [factory, 'branch_ms'], limit: 2000 },
    memoryTarget(250),
  ],
};
