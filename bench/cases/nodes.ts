/** Runs of tiny tool nodes: one, some, and so many that a cost which grows with the length of the run shows. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  against,
  type Bench,
  type Case,
  type Contest,
  factory,
  figuresOf,
  type Measured,
  memoryTarget,
  runPipeline,
  type Sample,
  versus,
  versusAtMost,
} from '../case.ts';
import { nodeTimes } from '../evidence.ts';
import { chain } from '../material.ts';
import { measure, type Pulse } from '../measure.ts';
import { evenGrowthOf, growthOf, stepsOf } from '../spread.ts';

const spawnTrue = "spawn('sh -c true')";
const leastNode = 'no engine';

export const oneNode: Case = {
  name: 'one-node',
  title: () => 'one tool node, empty workspace',
  rounds: [15, 3],
  warmUps: 1,
  prepare: (bench) => contest(bench, 1),
  comparisons: [
    { what: 'wall of a run of one node', how: 'value', of: [factory, 'wall_ms'], limit: 120 },
    memoryTarget(150),
    ...versusAtMost(1.05, 'wall_ms', 'cpu_ms'),
    ...versus('peak_mib'),
  ],
};

export const nodes: Case = {
  name: 'nodes',
  title: ({ nodes }) => `${nodes} tool nodes of \`true\`, empty workspace`,
  rounds: [7, 3],
  prepare: (bench) => ({
    ...contest(bench, bench.sizes.nodes),
    beside: { [spawnTrue]: () => spawns(bench), [leastNode]: (id) => least(bench, id) },
  }),
  comparisons: [
    {
      what: `a node / ${spawnTrue}`,
      how: 'ratio',
      of: [factory, 'node_ms'],
      to: [spawnTrue, 'node_ms'],
      limit: 2,
    },
    {
      what: 'a node / the same with pauses between',
      how: 'ratio',
      of: [factory, 'node_ms'],
      to: [spawnTrue, 'apart_ms'],
    },
    {
      what: 'a node / its files and flushes with no engine',
      how: 'ratio',
      of: [factory, 'node_ms'],
      to: [leastNode, 'node_ms'],
    },
    {
      what: `the latter / ${spawnTrue}`,
      how: 'ratio',
      of: [leastNode, 'node_ms'],
      to: [spawnTrue, 'node_ms'],
    },
    memoryTarget(150),
    ...versusAtMost(1.05, 'wall_ms', 'cpu_ms'),
    ...versus('node_ms'),
  ],
};

export const manyNodes: Case = {
  name: 'many-nodes',
  title: ({ manyNodes }) => `${manyNodes} tool nodes of \`true\`, empty workspace`,
  rounds: [1, 1],
  prepare: (bench) => contest(bench, bench.sizes.manyNodes),
  comparisons: [
    { what: 'cost of a last node / of the tenth', how: 'value', of: [factory, 'growth_x'] },
    {
      what: 'the same beside what the stages took',
      how: 'value',
      of: [factory, 'even_growth_x'],
      limit: 1.1,
    },
    { what: 'the same of the other program', how: 'value', of: [against, 'even_growth_x'] },
    // Reading the graph takes most of it.
    memoryTarget(205),
    ...versus('node_ms', 'wall_ms', 'cpu_ms', 'peak_mib'),
  ],
};

function contest(bench: Bench, count: number): Contest {
  const pipeline = join(bench.folder, `chain-${count}.dot`);
  const workdir = join(bench.folder, 'workdir');
  writeFileSync(pipeline, chain(count));
  mkdirSync(workdir);
  return {
    program: async (program, id) => {
      const pulses: Pulse[] = [];
      const ran = await runPipeline(bench, program, { pipeline, workdir, id }, pulses);
      return measuredRun(figuresOf(ran), nodeTimes(ran.runDir, count), pulses);
    },
    beside: {},
  };
}

/** The figures of a run and, from its second node on, what each one cost. */
export function measuredRun(
  figures: Sample,
  times: readonly number[],
  pulses: readonly Pulse[] = [],
): Measured {
  const costs = stepsOf(times);
  if (costs.length === 0) return { sample: figures };
  const growth = growthOf(costs);
  // Where nobody felt what the stages took, the growth on the clock is the best that can be told.
  const even = evenGrowthOf(times, pulses) ?? growth;
  const mean = costs.reduce((sum, cost) => sum + cost, 0) / costs.length;
  return {
    sample: {
      ...figures,
      node_ms: mean,
      ...(growth === undefined ? {} : { growth_x: growth }),
      ...(even === undefined ? {} : { even_growth_x: even }),
    },
    costs,
  };
}

async function spawns(bench: Bench): Promise<Measured> {
  const script = join(bench.project, 'bench/baselines/spawn-true.mjs');
  const ran = await measure([bench.node, script, `${bench.sizes.nodes}`], bench);
  const [node_ms = Number.NaN, apart_ms = Number.NaN] = ran.stdout.split(' ').map(Number);
  return { sample: { node_ms, apart_ms } };
}

async function least(bench: Bench, id: string): Promise<Measured> {
  const script = join(bench.project, 'bench/baselines/least-node.mjs');
  const ran = await measure([bench.node, script, join(bench.folder, id), `${bench.sizes.nodes}`], bench);
  return { sample: { node_ms: Number(ran.stdout) } };
}
