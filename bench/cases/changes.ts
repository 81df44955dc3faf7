/** Nodes over many files, of which each changes one: what a change costs, on the clock and on the disk. */
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Bench,
  type Case,
  type Contest,
  factory,
  figuresOf,
  type Program,
  runPipeline,
  versus,
} from '../case.ts';
import { nodeTimes } from '../evidence.ts';
import { chain, makeRandomTree, touching } from '../material.ts';
import { measure } from '../measure.ts';
import { stepsOf } from '../spread.ts';

const listing = 'find -printf';

const changesOf = (name: string, filesOf: (bench: Bench) => number): Case => ({
  name,
  title: ({ fileNodes, ...sizes }) =>
    `${fileNodes} tool nodes over ${name === 'changes' ? sizes.files : sizes.copyFiles} files that change one each, and as many that change none`,
  rounds: [5, 1],
  settle: true,
  prepare: (bench) => contest(bench, filesOf(bench)),
  comparisons: [
    {
      what: `a node without changes / ${listing}`,
      how: 'ratio',
      of: [factory, 'node_ms'],
      to: [listing, 'pass_ms'],
      limit: 2,
    },
    {
      what: 'a node that changes a file / one without changes',
      how: 'ratio',
      of: [factory, 'changed_ms'],
      to: [factory, 'node_ms'],
      limit: 1.3,
    },
    { what: 'the run directory', how: 'value', of: [factory, 'disk_mib'] },
    ...versus('node_ms', 'changed_ms', 'disk_mib', 'cpu_ms'),
  ],
});

export const changes = changesOf('changes', ({ sizes }) => sizes.files);
export const manyChanges = changesOf('many-changes', ({ sizes }) => sizes.copyFiles);

function contest(bench: Bench, files: number): Contest {
  const { fileNodes } = bench.sizes;
  const workdir = join(bench.folder, 'workdir');
  const still = join(bench.folder, 'still.dot');
  const moving = join(bench.folder, 'moving.dot');
  const paths = makeRandomTree(workdir, files);
  writeFileSync(still, chain(fileNodes));
  writeFileSync(moving, touching(Array.from({ length: fileNodes }, (_, n) => paths[n * 7] ?? '')));
  const node = async (program: Program, pipeline: string, id: string) => {
    const ran = await runPipeline(bench, program, { pipeline, workdir, id });
    const costs = stepsOf(nodeTimes(ran.runDir, fileNodes));
    return { ran, mean: costs.reduce((sum, cost) => sum + cost, 0) / costs.length };
  };
  return {
    reads: workdir,
    program: async (program, id) => {
      const unchanged = await node(program, still, `${id}-still`);
      const changed = await node(program, moving, `${id}-moving`);
      const disk_mib = bytesBelow(changed.ran.runDir) / 2 ** 20;
      return {
        sample: { ...figuresOf(changed.ran), node_ms: unchanged.mean, changed_ms: changed.mean, disk_mib },
      };
    },
    beside: {
      [listing]: async () => {
        const ran = await measure(['find', workdir, '-printf', '%p %s %T@ %C@ %i %m\\n'], bench);
        return { sample: { pass_ms: ran.wall_ms } };
      },
    },
  };
}

/** As `du` counts them: blocks, a file with several names once. */
function bytesBelow(folder: string): number {
  const seen = new Set<number>();
  let blocks = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const stat = statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false });
    if (stat === undefined || !stat.isFile() || seen.has(stat.ino)) continue;
    seen.add(stat.ino);
    blocks += stat.blocks;
  }
  return blocks * 512;
}
