/** The bench: flags in, tables and files out. */
import { setMaxListeners } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { against, type Bench, type Case, factory, type Program } from './case.ts';
import { cases } from './cases/index.ts';
import { anyOfOursFailed, type CaseResult, hold } from './contest.ts';
import { type Options, readFlags, usage } from './flags.ts';
import { earlierFigures, record } from './history.ts';
import { Interrupted } from './measure.ts';
import { withItsOrder } from './order.ts';
import { type Curves, letters, svgOf } from './plot.ts';
import { table } from './report.ts';
import { openScratch, plainEnv } from './scratch.ts';
import { fullSizes, quickSizes, type Sizes } from './sizes.ts';

export type Sinks = { readonly out: (text: string) => void; readonly tell: (line: string) => void };

/** Runs the bench of the project at `project`. Answers with the exit code: 0 it was measured (targets met or not) or help was
 *  asked for, 1 a run of our own failed, 2 the flags are wrong, 130 it was interrupted. */
export async function main(argv: readonly string[], project: string): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(`${usage}\n`);
    return 0;
  }
  const options = readFlags(argv, process.cwd());
  if ('problem' in options) {
    process.stderr.write(`${options.problem}\n${usage}\n`);
    return 2;
  }
  const stop = new AbortController();
  // Every program that runs at a time listens to it.
  setMaxListeners(0, stop.signal);
  const interrupt = () => {
    if (!stop.signal.aborted) process.stderr.write('stopping, and removing what was made …\n');
    stop.abort();
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, interrupt);
  try {
    return await bench(options, project, options.quick ? quickSizes : fullSizes, stop.signal, {
      out: (text) => process.stdout.write(`${text}\n`),
      tell: (line) => process.stderr.write(`${line}\n`),
    });
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}

/** Measures, prints, writes. What was measured before an interruption is written all the same. */
export async function bench(
  options: Options,
  project: string,
  sizes: Sizes,
  signal: AbortSignal,
  { out, tell }: Sinks,
): Promise<number> {
  const started = new Date();
  const chosen = cases.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  const results: CaseResult[] = [];
  const machine = `${cpus()[0]?.model ?? ''}, ${availableParallelism()} cores, Node ${process.version}`;
  const earlier = earlierFigures(project, machine, options.quick);
  const load = loadavg();
  let interrupted = false;
  try {
    await using scratch = openScratch();
    const starter = {
      scratch: scratch.room('said'),
      env: plainEnv(process.env, scratch.room('home')),
      signal,
      limitMs: options.limitMs,
      priority: options.priority,
    };
    tell(`priority: ${options.priority.name}`);
    const ours: Program = { name: factory, argv: [process.execPath, join(project, 'dist/cli.js')] };
    const settingIn = (room: string): Bench => ({
      ...starter,
      sizes,
      folder: scratch.room(room),
      node: process.execPath,
      project,
      ours,
    });
    const other =
      options.against === undefined
        ? undefined
        : await withItsOrder({ name: against, argv: options.against }, settingIn('order'));
    for (const which of chosen) {
      const result = await hold(which, {
        bench: settingIn(which.name),
        rounds: roundsOf(which, options),
        other,
        settle: !options.quick,
        tell,
      });
      results.push(result);
      out(`${table(result, earlier)}
`);
      if (worthAPlot(result.costs))
        out(`${letters(result.costs, result.block)}
`);
    }
    tell('removing what was made …');
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    interrupted = true;
  }
  if (interrupted) out(`interrupted: ${results.length} of ${chosen.length} cases were measured`);
  out(summary(results, options));
  const stem = join(project, 'bench/results', started.toISOString().replace(/[:.]/g, '-'));
  const json = options.json ?? `${stem}.json`;
  write(
    json,
    `${JSON.stringify(report(results, options, { started, sizes, load, interrupted }), null, 2)}\n`,
  );
  out(`figures  ${json}`);
  if (options.record && !interrupted) {
    const { commit } = record(project, results, { at: started.toISOString(), machine, quick: options.quick });
    out(`recorded ${commit} in bench/history.jsonl`);
  }
  const curve =
    results.find(({ name }) => name === 'many-nodes') ?? results.find(({ costs }) => worthAPlot(costs));
  if (curve !== undefined && worthAPlot(curve.costs)) {
    const plot = options.plot ?? `${stem}.svg`;
    write(plot, svgOf(`cost of a node: ${curve.title}`, curve.costs, curve.block));
    out(`plot     ${plot}`);
  }
  return interrupted ? 130 : anyOfOursFailed(results) ? 1 : 0;
}

/** Two points make no curve. */
const worthAPlot = (costs: Curves): boolean => Object.values(costs).some((curve) => curve.length > 2);

const roundsOf = (which: Case, options: Options): number =>
  options.runs ?? which.rounds[options.quick ? 1 : 0];

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function summary(results: readonly CaseResult[], options: Options): string {
  const targets = results.flatMap(({ name, compared }) =>
    compared.filter(({ limit }) => limit !== undefined).map((target) => ({ name, ...target })),
  );
  const missed = targets.filter(({ met }) => !met).map(({ name, what }) => `  missed: ${name}, ${what}`);
  const small = options.quick ? ' (small sizes: a trend, no verdict)' : '';
  return [`${targets.length - missed.length} of ${targets.length} targets met${small}`, ...missed].join('\n');
}

type Facts = {
  readonly started: Date;
  readonly sizes: Sizes;
  readonly load: readonly number[];
  readonly interrupted: boolean;
};

/** The file of figures. Fields are only ever added. */
const report = (results: readonly CaseResult[], options: Options, facts: Facts) => ({
  schema_version: 1,
  at: facts.started.toISOString(),
  interrupted: facts.interrupted,
  quick: options.quick,
  against: options.against ?? null,
  sizes: facts.sizes,
  machine: {
    node: process.version,
    system: `${process.platform} ${release()} ${arch()}`,
    processor: cpus()[0]?.model ?? '',
    cores: availableParallelism(),
    memory_mib: Math.round(totalmem() / 2 ** 20),
    priority: options.priority.name,
    load_before: facts.load,
    load_after: loadavg(),
  },
  cases: results,
});
