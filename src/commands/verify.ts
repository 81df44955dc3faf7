/** `factory verify`: whether a run's directory is still what the run has written. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { layout } from '../model/layout.ts';
import { locksIn, ownerOf } from '../store/lock.ts';
import { findRun, listingOf, otherVersionOf } from '../store/run-store.ts';
import type { Clock } from '../system/clock.ts';
import { type GitEnd, sourceGit } from '../system/git.ts';
import { isFolder } from '../system/read.ts';
import type { Problem } from '../verify/report.ts';
import { type Verified, verifyRun } from '../verify/verify.ts';
import type { Io } from './io.ts';
import { paints } from './io.ts';
import { oneLine, type Paint, painter } from './print.ts';
import { refuse, wrong } from './refuse.ts';

/** Registers `verify`; `io.exit` is given the exit code. */
export function withVerify(
  program: Command,
  io: Io & { readonly clock: Clock; readonly exit: (code: number) => void },
): void {
  program
    .command('verify <run>')
    .description('Check a run directory against its own hashes, from the spec to the commits, offline')
    .option('--repo <dir>', 'repository that the commits were delivered to')
    .option('--branch <name>', 'branch in that repository (default: factory/RUN)')
    .option('--chain <hash>', 'expected hash of the executions (or a prefix), from the summary of the run')
    .option('--runsdir <dir>', 'directory of the runs (default: .factory/runs)')
    .option('--json', 'print the report as JSON')
    .option('--no-color', 'disable colors (also: NO_COLOR)')
    .action(async (run: string, options: VerifyOptions) => io.exit(await verifyCommand(run, options, io)));
}

export type VerifyOptions = {
  readonly runsdir?: string;
  readonly repo?: string;
  readonly branch?: string;
  readonly chain?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Checks a run; nothing is changed. Answers 0 where all holds, 1 where something was changed, 2 where there is no such
 *  run, or none that we can read. */
export async function verifyCommand(
  run: string,
  options: VerifyOptions,
  io: Io & { readonly clock: Clock },
): Promise<number> {
  const no = async (code: string, message: string, fix?: string): Promise<number> => {
    await refuse([wrong(code, message, fix)], io, options);
    return 2;
  };
  if (options.branch !== undefined && options.repo === undefined)
    return no('usage', '--branch needs --repo', 'name the repository: --repo DIR --branch NAME');
  if (options.chain !== undefined && !/^[0-9a-fA-F]{4,64}$/.test(options.chain))
    return no(
      'usage',
      '--chain wants the hash of the visits, or at least 4 digits of its beginning',
      'the summary of the run has it: evidence … visits HASH',
    );
  const repo = options.repo === undefined ? undefined : resolve(io.cwd, options.repo);
  const look = repo === undefined ? undefined : await lookInto(repo, io.env);
  if (look?.ok === false && look.missing) return no('usage', `--repo: ${look.why}`, 'install git');
  if (look?.ok === false)
    return no('usage', `--repo: ${repo} is no git repository`, 'name the one that has the branch');
  const find = () => findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), run);
  const found = await find();
  if (!found.ok) return no('no-run', found.why);
  const runDir = resolve(io.cwd, found.dir);
  // Anything else in the place of its folder is reported below.
  const isGoing = async () =>
    isFolder(layout(runDir).locks) && (await ownerOf(runDir, io.clock)) !== undefined;
  const going = () =>
    no(
      'run-going',
      `run ${found.id} is running: its files change while they are checked`,
      `wait until it ends; ${listingOf(runDir, io.cwd)} shows its status`,
    );
  const owners = locksIn(runDir).length;
  if (await isGoing()) return going();
  // A run of another version may be unchanged and still unreadable.
  const other = await otherVersionOf(runDir);
  if (other !== undefined) return no('run-files', `run ${found.id} ${other.what}`, other.fix);
  const { branch } = options;
  const verified = await verifyRun({
    runDir,
    env: io.env,
    chain: options.chain,
    delivered: repo === undefined ? undefined : { repo, ...(branch === undefined ? {} : { branch }) },
  });
  const code = verified.problems.length === 0 ? 0 : 1;
  if (code !== 0) {
    // The run may have been removed or resumed meanwhile, which is no change of what it wrote.
    const still = await find();
    if (!still.ok) return no('no-run', still.why);
    if ((await isGoing()) || locksIn(runDir).length > owners) return going();
  }
  const { manifest, ...report } = verified;
  if (options.json === true) {
    const status = code === 0 ? 'holds' : 'changed';
    const run = { schema_version: 1, run_id: manifest?.run_id ?? found.id, status, exit_code: code };
    io.out(`${JSON.stringify({ ...run, ...report, run_dir: runDir }, null, 2)}\n`);
    return code;
  }
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  io.out(`${words(verified, found.id, paint).join('\n')}\n`);
  return code;
}

/** A slip in the path of a repository says nothing of the run. */
const lookInto = async (path: string, env: Io['env']): Promise<GitEnd> =>
  isFolder(path)
    ? sourceGit(path, env).run(['rev-parse', '--git-dir'])
    : { ok: false, why: 'it is no folder', missing: false };

/** Notes and gaps of one kind are no news after so many. */
const mostNotes = 20;

function words(verified: Verified, id: string, paint: Paint): readonly string[] {
  const { problems, notes, checked, unchecked } = verified;
  const names = new Set(problems.map(({ where }) => where)).size;
  const counts = Object.entries(checked).map(
    ([what, n]) => `${n} ${n === 1 ? what.replace(/(?<=ch)es$|(?<!s)s$/, '') : what}`,
  );
  return [
    problems.length === 0
      ? paint.green(`✓ run ${id} holds: nothing was changed`)
      : paint.red(
          `✗ run ${id} does not hold: ${names} ${names === 1 ? 'file is' : 'files are'} not as the run wrote ${names === 1 ? 'it' : 'them'}`,
        ),
    ...problems.map((one) => `  ${paint.red(one.code.padEnd(13))} ${line(one)}`),
    `  ${paint.dim('checked'.padEnd(13))} ${counts.join(', ')}`,
    ...some(notes, (one) => `  ${paint.yellow('note'.padEnd(13))} ${line(one)}`),
    ...some(unchecked, (why) => `  ${paint.yellow('not checked'.padEnd(13))} ${oneLine(why, 300)}`),
  ];
}

function some<T>(all: readonly T[], draw: (one: T) => string): readonly string[] {
  const more = all.length - mostNotes;
  return [...all.slice(0, mostNotes).map(draw), ...(more > 0 ? [`  and ${more} more (--json)`] : [])];
}

function line({ where, message, should_be: should, is }: Problem): string {
  const values = [
    ...(should === null ? [] : [`should be ${value(should)}`]),
    ...(is === null ? [] : [`is ${value(is)}`]),
  ];
  return `${oneLine(where, 300)}: ${oneLine(message, 300)}${values.length === 0 ? '' : ` (${values.join(', ')})`}`;
}

const value = (text: string): string =>
  /^[0-9a-f]{64}$/.test(text) ? `${text.slice(0, 12)}…` : oneLine(text, 120) || 'empty';
