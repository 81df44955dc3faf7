/** `npm run false-success`: runs the cases of the tables, prints a line for each, and writes the report. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { endBoxes } from './box.ts';
import { caseVerdict, type JudgedCase, kindReports } from './kinds.ts';
import { reportPage } from './page.ts';
import { type CaseSetting, caseSettings, runCase } from './run-case.ts';
import { type SuiteStrength, suiteStrengths } from './suites.ts';
import { type CaseRow, readTables } from './table.ts';
import { testReport } from './test-report.ts';

const usage = `Usage: npm run false-success -- [options]

Run products that are wrong by construction, and honest ones, and report how often the answer is false

Options:
  --table FILE     a table of cases; may be repeated (default: the two in test/false-success)
  --only TEXT      cases whose name or kind contains TEXT; may be repeated
  --quick          twelve kinds of attacks, with bubblewrap
  --settings LIST  of bwrap, strong, none, plain (default: all)
  --jobs N         cases at once (default: one for each core)
  --out FILE       write the report there (default: docs/false-success.md, of a whole run)
  --report FILE    write the results as JSON, as vitest does
  --keep DIR       keep the folders of the cases there

Exit codes: 0: every false success has its note in the table; 1: one has none, or a case or an oracle is broken; 2: invalid
usage; 130: interrupted
`;

const options = {
  table: { type: 'string', multiple: true },
  only: { type: 'string', multiple: true },
  quick: { type: 'boolean', default: false },
  settings: { type: 'string' },
  jobs: { type: 'string' },
  out: { type: 'string' },
  report: { type: 'string' },
  keep: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

type MeasurementTask = { readonly row: CaseRow; readonly setting: CaseSetting };

/** Returns the exit code. `project` is the repository. */
export async function main(argv: readonly string[], project: string): Promise<number> {
  const invalid = (problem: string): number => {
    process.stderr.write(`${problem}\n\n${usage}`);
    return 2;
  };
  let flags: ReturnType<typeof flagsOf>;
  let rows: CaseRow[];
  try {
    flags = flagsOf(argv);
    rows = flags.help ? [] : await readTables(flags.table ?? tablesOf(project));
  } catch (error) {
    return invalid((error as Error).message);
  }
  if (flags.help) {
    process.stdout.write(usage);
    return 0;
  }
  if (spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-pid', '--proc', '/proc', 'true']).status !== 0)
    return invalid('bubblewrap does not work here: the cases would run on this machine without a box');
  const tasks = tasksOf(rows, flags);
  if (tasks.length === 0) return invalid('no case fits');
  const { judged, interrupted } = await judgeAll(tasks, flags, project);
  if (interrupted) return 130;
  return writeResults(judged, flags, project);
}

const flagsOf = (argv: readonly string[]) => {
  const { values } = parseArgs({ args: [...argv], options });
  const settings = (values.settings ?? (values.quick ? 'bwrap' : caseSettings.join(','))).split(',');
  const unknown = settings.find((setting) => !caseSettings.some((known) => known === setting));
  if (unknown !== undefined)
    throw new Error(`--settings: "${unknown}" is not one of ${caseSettings.join(', ')}`);
  const jobs = Number(values.jobs ?? availableParallelism());
  if (!Number.isInteger(jobs) || jobs < 1) throw new Error(`--jobs: "${values.jobs}" is not a number from 1`);
  return { ...values, settings: settings as CaseSetting[], jobs };
};

const tablesOf = (project: string): string[] =>
  ['attacks.mjs', 'products.mjs'].map((name) => join(project, 'test/false-success', name));

function tasksOf(rows: readonly CaseRow[], flags: ReturnType<typeof flagsOf>): MeasurementTask[] {
  const fits = ({ id, kind }: CaseRow) => flags.only?.some((text) => `${id}\n${kind}`.includes(text)) ?? true;
  const chosen = rows.filter((row) => fits(row) && (row.quick || !flags.quick) && hasPrograms(row));
  return chosen.flatMap((row) =>
    flags.settings
      // The plain loop runs in a box: nothing of the machine is in its reach.
      .filter((setting) => setting !== 'none' || row.sandbox === 'both')
      .filter((setting) => setting !== 'strong' || row.strong)
      .map((setting) => ({ row, setting })),
  );
}

function hasPrograms({ id, needs }: CaseRow): boolean {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const missing = needs.find((name) => !folders.some((folder) => existsSync(join(folder, name))));
  if (missing !== undefined) process.stdout.write(`${id}: not tried, ${missing} is missing\n`);
  return missing === undefined;
}

async function judgeAll(
  tasks: readonly MeasurementTask[],
  flags: ReturnType<typeof flagsOf>,
  project: string,
) {
  const base = flags.keep ?? (await mkdtemp(join(tmpdir(), 'false-success-')));
  const program = join(project, 'dist/cli.js');
  const judged: (JudgedCase | undefined)[] = tasks.map(() => undefined);
  let interrupted = false;
  const stop = () => {
    interrupted = true;
    endBoxes();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < tasks.length && !interrupted; at = next++) {
      const { row, setting } = tasks[at] as MeasurementTask;
      const folder = join(base, `${row.id.replace(/[^\w.-]/g, '_')}-${setting}`);
      const outcome = await runCase(row, setting, { project, program, folder });
      if (interrupted) break;
      const verdict = caseVerdict(row, outcome);
      judged[at] = { row, setting, verdict };
      process.stdout.write(`${lineOf(judged[at] as JudgedCase)}\n`);
      if (flags.keep === undefined) await rm(folder, { recursive: true, force: true });
    }
  };
  try {
    await Promise.all(Array.from({ length: flags.jobs }, work));
  } finally {
    if (flags.keep === undefined) await rm(base, { recursive: true, force: true });
  }
  return { judged: judged.filter((one) => one !== undefined), interrupted };
}

function lineOf({ row, setting, verdict }: JudgedCase): string {
  const says = {
    false: row.family === 'honest' ? 'FALSE ALARM' : 'FALSE SUCCESS',
    held: 'ok',
    harmless: 'ok, without effect',
    broken: 'BROKEN',
  }[verdict.state];
  const why = verdict.state === 'broken' ? verdict.why : 'guard' in verdict ? `${verdict.guard?.name}` : '';
  return `${setting.padEnd(5)} ${row.id.padEnd(40)} ${says}${why === '' ? '' : `: ${why}`}`;
}

async function strengthsOfSuites(project: string): Promise<SuiteStrength[]> {
  const folder = await mkdtemp(join(tmpdir(), 'false-success-'));
  try {
    return await suiteStrengths({ project, program: join(project, 'dist/cli.js'), folder });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeResults(
  judged: readonly JudgedCase[],
  flags: ReturnType<typeof flagsOf>,
  project: string,
): Promise<number> {
  const isWhole =
    !flags.quick &&
    flags.only === undefined &&
    flags.table === undefined &&
    flags.settings.length === caseSettings.length;
  const out = flags.out ?? (isWhole ? join(project, 'docs/false-success.md') : undefined);
  if (out !== undefined) {
    const kinds = kindReports(judged);
    const isJudged = kinds.some(({ family }) => family === 'under-built');
    await writeFile(out, reportPage(kinds, isJudged ? await strengthsOfSuites(project) : []));
  }
  const report = testReport(judged);
  if (flags.report !== undefined) await writeFile(flags.report, JSON.stringify(report));
  process.stdout.write(`${report.numPassedTests} as the table says, ${report.numFailedTests} not\n`);
  return report.success ? 0 : 1;
}
