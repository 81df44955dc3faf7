/** `factory verify`: whether a run's directory is still what the run has written, or an attestation what its signer has. */
import { resolve } from 'node:path';
import { acceptedWeaknessIn } from '../app/accept-weak.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { judgedWords } from '../core/judged-words.ts';
import { acceptanceWords, type WeaknessAccepted } from '../core/records/acceptance.ts';
import { layout } from '../core/records/layout.ts';
import { isFile, isFolder } from '../platform/files/read.ts';
import { type GitEnd, sourceGit } from '../platform/git.ts';
import { locksIn, ownerOf } from '../run/lock.ts';
import { listingOf, otherVersionOf } from '../run/runs.ts';
import { type Verified, type VerifyRequest, verifyRun } from '../verify/index.ts';
import type { VerifyProblem } from '../verify/report.ts';
import { findNamed, type NamedRun, usage } from './find-run.ts';
import { type Io, paints } from './io.ts';
import { oneLine, type Paint, painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type VerifyOptions = {
  readonly runsdir?: string;
  readonly repo?: string;
  readonly branch?: string;
  readonly chain?: string;
  readonly key?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Checks a run or the file of an attestation; nothing is changed. Answers 0 where all holds, 1 where something was changed. */
export async function verifyCommand(
  run: string,
  options: VerifyOptions,
  io: Io & { readonly clock: Clock },
): Promise<VerbResult> {
  const { branch, chain, key } = options;
  const repo = options.repo === undefined ? undefined : resolve(io.cwd, options.repo);
  const wrong = await flagsProblem(options, repo, io);
  if (wrong !== undefined) return wrong;
  if (await isFile(resolve(io.cwd, run))) {
    if (chain !== undefined) return usage('--chain is of a run, not of a file', 'leave it out');
    return (await import('./verify-file.ts')).verifyFile(run, options, io);
  }
  if (key !== undefined)
    return usage(
      `--key is of a file, and there is no file ${run}`,
      'name a file that factory attest has written',
    );
  const delivered = repo === undefined ? undefined : { repo, ...(branch === undefined ? {} : { branch }) };
  const found = await verifyNamed(run, options, { chain, delivered }, io);
  return 'problems' in found ? found : printVerified(found.verified, found.named, options, io);
}

/** Checks the run with that name; refuses one that is running. */
export async function verifyNamed(
  run: string,
  options: Pick<VerifyOptions, 'runsdir'>,
  more: Pick<VerifyRequest, 'chain' | 'delivered'>,
  io: Io & { readonly clock: Clock },
): Promise<{ readonly named: NamedRun; readonly verified: Verified } | Refusal> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const { id, dir: runDir } = found;
  // Anything else in the place of its folder is reported below.
  const isRunning = async () =>
    isFolder(layout(runDir).locks) && (await ownerOf(runDir, io.clock)) !== undefined;
  const running = refused(
    'run-going',
    `run ${id} is running: its files change while they are checked`,
    `wait until it ends; ${listingOf(runDir, io.cwd)} shows its status`,
  );
  const owners = locksIn(runDir).length;
  if (await isRunning()) return running;
  // A run of another version may be unchanged and still unreadable.
  const other = await otherVersionOf(runDir);
  if (other !== undefined) return refused('run-files', `run ${id} ${other.what}`, other.fix);
  const verified = await verifyRun({ runDir, env: io.env, ...more });
  if (verified.problems.length > 0) {
    // The run may have been removed or resumed meanwhile, which is no change of what it wrote.
    const still = await findNamed(run, options, io);
    if ('problems' in still) return still;
    if ((await isRunning()) || locksIn(runDir).length > owners) return running;
  }
  return { named: found, verified };
}

/** What is wrong with the flags. */
async function flagsProblem(
  { branch, chain }: VerifyOptions,
  repo: string | undefined,
  { env }: Io,
): Promise<VerbResult | undefined> {
  if (branch !== undefined && repo === undefined)
    return usage('--branch needs --repo', 'name the repository: --repo DIR --branch NAME');
  if (chain !== undefined && !/^[0-9a-fA-F]{4,64}$/.test(chain))
    return usage(
      '--chain wants the hash of the visits, or at least 4 digits of its beginning',
      'the summary of the run has it: evidence … visits HASH',
    );
  const look = repo === undefined ? undefined : await lookInto(repo, env);
  if (look === undefined || look.ok) return undefined;
  return look.missing
    ? usage(`--repo: ${look.why}`, 'install git')
    : usage(`--repo: ${repo} is no git repository`, 'name the one that has the branch');
}

/** Prints what was found, and answers the exit code. */
export function printVerified(
  verified: Verified,
  { id, dir }: NamedRun,
  options: Pick<VerifyOptions, 'json' | 'color'>,
  io: Io,
): number {
  const code = verified.problems.length === 0 ? 0 : 1;
  const accepted = acceptedWeaknessIn(dir);
  if (options.json === true) {
    const { manifest, ...more } = verified;
    const status = code === 0 ? 'holds' : 'changed';
    const run = { schema_version: 1, run_id: manifest?.run_id ?? id, status, exit_code: code };
    const acceptance = accepted === undefined ? {} : { accepted_weakness: accepted };
    io.out(`${JSON.stringify({ ...run, ...more, ...acceptance, run_dir: dir }, null, 2)}\n`);
  } else {
    const paint = painter(paints(io, io.outIsTerminal, options.color));
    io.out(`${words(verified, id, accepted, paint).join('\n')}\n`);
  }
  return code;
}

/** A slip in the path of a repository says nothing of the run. */
const lookInto = async (path: string, env: Io['env']): Promise<GitEnd> =>
  isFolder(path)
    ? sourceGit(path, env).run(['rev-parse', '--git-dir'])
    : { ok: false, why: 'it is no folder', missing: false };

/** Notes and gaps of one kind are no news after so many. */
const mostNotes = 20;

function words(
  verified: Verified,
  id: string,
  accepted: WeaknessAccepted | undefined,
  paint: Paint,
): readonly string[] {
  const { problems, notes, checked, unchecked, judged } = verified;
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
    ...(judged === undefined ? [] : [`  ${paint.dim('judged'.padEnd(13))} ${judgedWords(judged)}`]),
    ...(accepted === undefined
      ? []
      : [
          `  ${paint.yellow('accepted'.padEnd(13))} ${acceptanceWords(accepted)} (no hash covers acts.jsonl)`,
        ]),
    ...some(notes, (one) => `  ${paint.yellow('note'.padEnd(13))} ${line(one)}`),
    ...some(unchecked, (why) => `  ${paint.yellow('not checked'.padEnd(13))} ${oneLine(why, 300)}`),
  ];
}

function some<T>(all: readonly T[], draw: (one: T) => string): readonly string[] {
  const more = all.length - mostNotes;
  return [...all.slice(0, mostNotes).map(draw), ...(more > 0 ? [`  and ${more} more (--json)`] : [])];
}

function line({ where, message, should_be: should, is }: VerifyProblem): string {
  const values = [
    ...(should === null ? [] : [`should be ${value(should)}`]),
    ...(is === null ? [] : [`is ${value(is)}`]),
  ];
  return `${oneLine(where, 300)}: ${oneLine(message, 300)}${values.length === 0 ? '' : ` (${values.join(', ')})`}`;
}

const value = (text: string): string =>
  /^[0-9a-f]{64}$/.test(text) ? `${text.slice(0, 12)}…` : oneLine(text, 120) || 'empty';
