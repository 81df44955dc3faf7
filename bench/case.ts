/** What a case of the bench is, and the program that it starts. */
import { join } from 'node:path';
import { measure, type Pulse, type Ran, type Starter } from './measure.ts';
import type { Sizes } from './sizes.ts';
import type { How } from './spread.ts';

export const factory = 'factory';
export const against = 'against';

/** What is measured. The end of the name is the unit: `_ms`, `_mib`, `_pc` (percent), `_x` (times), `_n` (a count). */
export const quantityNames = {
  wall_ms: 'wall',
  cpu_ms: 'processor',
  peak_mib: 'peak memory',
  node_ms: 'a node',
  changed_ms: 'a node that changes a file',
  branch_ms: 'one more branch',
  sandbox_ms: 'what the sandbox adds',
  call_ms: 'one more product call',
  server_pc: 'the server, of a core',
  apart_ms: 'with pauses',
  pass_ms: 'a pass',
  copy_ms: 'the copy',
  disk_mib: 'the run directory',
  help_ms: '--help',
  validate_ms: 'validate',
  runs_ms: 'runs',
  show_ms: 'show',
  why_ms: 'why',
  logs_ms: 'logs',
  verify_ms: 'verify',
  resume_ms: 'resume',
  growth_x: 'growth',
  even_growth_x: 'growth beside the stages',
  lost_n: 'runs lost',
} as const;
export type Quantity = keyof typeof quantityNames;
// The compiler does not believe that an object has no more keys than its type; this one has not.
export const quantities = Object.keys(quantityNames) as Quantity[];
/** The letters of its unit. */
export const unitOf = (quantity: Quantity): string => quantity.slice(quantity.lastIndexOf('_') + 1);
export type Sample = Readonly<Partial<Record<Quantity, number>>>;
/** `costs`: milliseconds of each node but the first, for the plot. `problem`: it counts as failed all the same. */
export type Measured = {
  readonly sample: Sample;
  readonly costs?: readonly number[];
  readonly problem?: string;
};

/** A program that takes `run --workdir W --runsdir R --run-id ID PIPELINE`, or the pipeline before the flags; `name` is
 *  `factory` or `against`. */
export type Program = {
  readonly name: string;
  readonly argv: readonly string[];
  readonly pipelineFirst?: boolean;
};

export type Bench = Starter & {
  readonly sizes: Sizes;
  /** Where this case keeps everything; nothing in it is deleted before the bench ends. */
  readonly folder: string;
  /** The Node that runs the bench and the program of this project. */
  readonly node: string;
  /** The root of this project. */
  readonly project: string;
  readonly ours: Program;
};

export type Contest = {
  /** A folder that is read before each program: a cache that has gone cold would be paid for by whoever is first. */
  readonly reads?: string;
  /** Measures a program that is compared; `id` is used for nothing else. */
  program(program: Program, id: string): Promise<Measured>;
  /** What is measured beside it in every round, as a baseline. */
  readonly beside: Readonly<Record<string, (id: string) => Promise<Measured>>>;
};

/** `of` and `to` are a program and its quantity. With a limit it is a target, that of the median. */
export type Comparison = {
  readonly what: string;
  readonly how: How;
  readonly of: readonly [who: string, quantity: Quantity];
  readonly to?: readonly [who: string, quantity: Quantity];
  readonly limit?: number;
};

export type Case = {
  readonly name: string;
  title(sizes: Sizes): string;
  /** Rounds, full and quick. */
  readonly rounds: readonly [full: number, quick: number];
  /** Rounds before them that are not counted, for what is over so soon that a cold cache decides. */
  readonly warmUps?: number;
  /** Flush the disk before each program: what one has left unwritten would be written while the next is timed. */
  readonly settle?: boolean;
  /** The other program is not asked. */
  readonly alone?: boolean;
  /** Makes the material. */
  prepare(bench: Bench): Contest;
  readonly comparisons: readonly Comparison[];
};

export type PipelineRun = Ran & { readonly runDir: string };

/** One run by `program`, in a runs directory of its own. */
export async function runPipeline(
  bench: Bench,
  program: Program,
  run: { readonly pipeline: string; readonly workdir: string; readonly id: string },
  pulses?: Pulse[],
): Promise<PipelineRun> {
  const runs = join(bench.folder, `runs-${program.name}`);
  const flags = ['--workdir', run.workdir, '--runsdir', runs, '--run-id', run.id];
  const words = program.pipelineFirst ? [run.pipeline, ...flags] : [...flags, run.pipeline];
  const ran = await measure([...program.argv, 'run', ...words], bench, pulses);
  return { ...ran, runDir: join(runs, run.id) };
}

/** The quantities that every started program has. */
export const figuresOf = (ran: Ran): Sample => ({
  wall_ms: ran.wall_ms,
  ...(ran.cpu_ms === undefined ? {} : { cpu_ms: ran.cpu_ms }),
  ...(ran.peak_mib === undefined ? {} : { peak_mib: ran.peak_mib }),
});

/** Peak memory is held to `mib`. */
export const memoryTarget = (mib: number, who: string = factory): Comparison => ({
  what: `peak memory of ${who}`,
  how: 'value',
  of: [who, 'peak_mib'],
  limit: mib,
});

/** Ours against the other program's, for each of `quantities`. */
export const versus = (...which: readonly Quantity[]): Comparison[] =>
  which.map((quantity) => ({
    what: `${quantityNames[quantity]}: factory / against`,
    how: 'ratio',
    of: [factory, quantity],
    to: [against, quantity],
  }));

/** The same, as targets. They are asked of an earlier build of our own, and only where there is another program. */
export const versusAtMost = (limit: number, ...which: readonly Quantity[]): Comparison[] =>
  versus(...which).map((comparison) => ({ ...comparison, limit }));
