/** `factory scenario strength`: how many mutants of a product its scenarios notice. */
import { realpath, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { sourceGit } from '../platform/git.ts';
import { realReach } from '../platform/network.ts';
import { programsOf } from '../platform/process/table.ts';
import { type Discovered, discover } from '../scenarios/discover.ts';
import { sandboxHere } from '../scenarios/sandbox.ts';
import { openStrengthCache } from '../scenarios/strength/cache.ts';
import { type MeasuredStrength, measureStrength, type StrengthEnd } from '../scenarios/strength/measure.ts';
import { type StrengthSubject, subjectInGit } from '../scenarios/strength/subject.ts';
import { copyTree } from '../workspace/copy.ts';
import { readIgnore } from '../workspace/ignore.ts';
import type { CliIo } from './io.ts';
import { progressLine, strengthText } from './report/strength.ts';
import { holdoutFolders, orMissing, scenarioTimeout } from './scenario.ts';
import type { VerbResult } from './verb.ts';

export type StrengthFlags = {
  readonly app: string;
  readonly files?: readonly string[];
  readonly base?: string;
  readonly build?: string;
  readonly tests?: string;
  readonly sample?: number;
  readonly seed?: string;
  readonly budget?: number;
  readonly jobs?: number;
  readonly isolation?: string;
  readonly json?: boolean;
};

const no = (message: string, fix: string): Refusal => refused('scenario', message, fix);

/** Measures it. Exit codes: 0 a number, or nothing to measure; 1 the number is void; 2 nothing was begun; 86 infrastructure failed;
 *  130 interrupted. */
export async function scenarioStrength(place: string, flags: StrengthFlags, io: CliIo): Promise<VerbResult> {
  const folder = resolve(io.cwd, place);
  const found = await discover(folder).catch(orMissing);
  if (found === undefined || found.scenarios.length === 0)
    return no(
      found === undefined ? `there is no folder ${place}` : `there are no scenarios in ${place}`,
      'name a folder with scripts such as login_user_scenarios.sh',
    );
  const isolation = flags.isolation ?? 'required';
  if (isolation !== 'auto' && isolation !== 'required')
    return no(`there is no isolation "${isolation}"`, 'write auto or required');
  const timeoutMs = scenarioTimeout(undefined, io.env);
  if (typeof timeoutMs !== 'number') return timeoutMs;
  const subject = await subjectOf(flags, io);
  if ('problems' in subject) return subject;
  const measured = await measureAll({ found, folder, subject, isolation, timeoutMs }, flags, io);
  const { suite, tests } = measured;
  const code = exitCodes[suite.end === 'done' && tests !== undefined ? tests.end : suite.end];
  if (suite.end === 'no_sandbox')
    return no(
      suite.strength.why ?? '',
      'install bubblewrap or allow user namespaces, which it needs; --isolation auto runs mutants without a sandbox, and they may do anything',
    );
  io.out(flags.json === true ? jsonOf(measured, code) : textOf(measured));
  return code;
}

const exitCodes: Readonly<Record<StrengthEnd, number>> = {
  ...{ done: 0, budget: 0, unknown: 0, void: 1, no_sandbox: 2, infra: 86, interrupted: 130 },
};

/** The product as git has it, or why it cannot be read. */
async function subjectOf(flags: StrengthFlags, { cwd, env }: CliIo): Promise<StrengthSubject | Refusal> {
  const app = resolve(cwd, flags.app);
  const is = await stat(app).catch(() => undefined);
  const what = is === undefined ? `there is no product in ${flags.app}` : `${flags.app} is no folder`;
  if (is?.isDirectory() !== true) return no(what, 'pass the folder of the product: --app DIR');
  const git = sourceGit(await realpath(app), env);
  const top = await git.run(['rev-parse', '--show-toplevel']);
  if (!top.ok)
    return no(
      `${flags.app} is not under git: ${top.why}`,
      'only files under git are mutated: run "git init" and "git add" there',
    );
  const { base } = flags;
  const commit =
    base === undefined
      ? undefined
      : await git.run(['rev-parse', '--verify', '--quiet', '--end-of-options', `${base}^{commit}`]);
  if (commit?.ok === false)
    return no(`there is no commit ${base} in ${flags.app}`, 'name one: git log --oneline');
  const ignore = readIgnore((flags.files ?? []).join('\n'));
  const isNamed = (path: string): boolean =>
    path.split('/').some((_, n, names) => ignore(names.slice(0, n + 1).join('/'), n + 1 < names.length));
  const isSought = flags.files === undefined ? () => true : isNamed;
  return subjectInGit(app, git, { base: commit?.text, isSought });
}

type Measured = { readonly suite: MeasuredStrength; readonly tests: MeasuredStrength | undefined };

async function measureAll(
  about: {
    readonly found: Discovered;
    readonly folder: string;
    readonly subject: StrengthSubject;
    readonly isolation: 'auto' | 'required';
    readonly timeoutMs: number;
  },
  flags: StrengthFlags,
  io: CliIo,
): Promise<Measured> {
  const { found, folder, subject, isolation, timeoutMs } = about;
  const { clock, env } = io;
  const began = clock.monotonic();
  const signal = io.signal();
  const sandbox = await sandboxHere(io.spawn, env, await holdoutFolders(folder));
  // Without a sandbox scenarios share the machine's network.
  const jobs = flags.jobs ?? (sandbox.sandbox?.openNetwork === undefined ? 1 : availableParallelism());
  const host = {
    ...{ ...sandbox, clock, env, signal, programsOf, reach: realReach },
    copyProduct: (from: string, to: string, exclude: readonly string[]) =>
      copyTree(from, to, { exclude, whole: true }),
  };
  const measure = async (tests: string | undefined): Promise<MeasuredStrength> => {
    const { build, sample, seed, budget } = flags;
    const measured = await measureStrength(
      subject,
      {
        ...{ scenarios: found.scenarios, tests, build, sample, seed, jobs, timeoutMs, isolation },
        budgetMs: budget === undefined ? undefined : Math.max(0, budget - (clock.monotonic() - began)),
        cache: openStrengthCache(env),
        ...(io.errIsTerminal ? { onProgress: (progress) => io.err(progressLine(progress)) } : {}),
      },
      host,
    );
    if (io.errIsTerminal) io.err('\r\x1b[2K');
    return measured;
  };
  const suite = await measure(undefined);
  const isMore = flags.tests !== undefined && !['interrupted', 'no_sandbox'].includes(suite.end);
  return { suite, tests: isMore ? await measure(flags.tests) : undefined };
}

const textOf = ({ suite, tests }: Measured): string =>
  `${strengthText(suite)}${tests === undefined ? '' : `\n${strengthText(tests, 'tests')}`}`;

function jsonOf({ suite, tests }: Measured, code: number): string {
  const { strength, survivors } = suite;
  const ofTests = tests === undefined ? null : { strength: tests.strength, survivors: tests.survivors };
  const all = { schema_version: 1, exit_code: code, strength, survivors, tests: ofTests };
  return `${JSON.stringify(all, null, 2)}\n`;
}
