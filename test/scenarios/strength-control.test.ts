/** What judges mutants first judges the product without one, as mutants are judged: changed files, builds, time and disk. */
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Exit } from '../../src/core/contracts/process.ts';
import { placeProduct } from '../../src/scenarios/floor/shown-files.ts';
import type { PhaseHost } from '../../src/scenarios/launch/product.ts';
import type { StrengthMember, Verdict } from '../../src/scenarios/strength/judges.ts';
import { limitedDisk } from '../../src/scenarios/strength/limits.ts';
import { openVariants, type VariantRequest, type Variants } from '../../src/scenarios/strength/variants.ts';
import { copyTree } from '../../src/workspace/copy.ts';

const original = 'one\n';
const unchanged = new Map<string, string>();
const touched = new Map([['a.js', `${original}\n`]]);
const mutant = new Map([['a.js', 'two\n']]);

type Call = {
  /** Of `a.js`, as the judge finds it. */
  readonly text: string;
  readonly app: string;
  readonly place: string;
  readonly limitMs: number;
  readonly signal: AbortSignal;
};

/** A judge of the product that answers what the test says. */
const member = (answer: (call: Call) => Promise<Verdict['what']> | Verdict['what']): StrengthMember => ({
  name: 'judge',
  async judge({ app: from, files }, { place, limitMs }, host) {
    const app = join(place, 'shown');
    await placeProduct(() => host.copyProduct(from, app, []), app, files);
    const text = readFileSync(join(app, 'a.js'), 'utf8');
    const what = await answer({ text, app, place, limitMs, signal: host.signal });
    return { what, why: 'judge: it says so', liveMs: 0 };
  },
});

const exited = (code: number): Exit => ({ kind: 'exited', code });

/** The product `a.js` with a newer file, and variants of it. `build`: what the build does in its folder. */
async function opened(
  answer: Parameters<typeof member>[0],
  {
    build,
    ...more
  }: Partial<Pick<VariantRequest, 'diskLimit' | 'jobs'>> & {
    readonly build?: (app: string, signal: AbortSignal | undefined) => Promise<Exit> | Exit;
  } = {},
) {
  const top = await mkdtemp(join(tmpdir(), 'control-'));
  const [app, room] = [join(top, 'app'), join(top, 'room')];
  for (const folder of [app, room]) mkdirSync(folder);
  writeFileSync(join(app, 'a.js'), original);
  writeFileSync(join(app, 'made.js'), original);
  const late = Date.now() / 1000 + 3600;
  utimesSync(join(app, 'made.js'), late, late);
  let now = 0;
  const host: PhaseHost = {
    spawn: { run: async ({ cwd, signal }) => build?.(cwd, signal) ?? exited(0) },
    clock: {
      now: () => new Date(0),
      monotonic: () => now++,
      sleep: () => new Promise((resolve) => setImmediate(resolve)),
    },
    reach: async () => true,
    programsOf: () => undefined,
    env: {},
    signal: new AbortController().signal,
    copyProduct: (from, to, exclude) => copyTree(from, to, { exclude, whole: true }),
  };
  return openVariants(
    {
      ...{ app, room, except: [], mountChoices: [[]], timeoutMs: 100_000, jobs: 1, touched },
      build: build === undefined ? undefined : 'build it',
      members: [member(answer)],
      ...more,
    },
    host,
  );
}

async function variantsOf(...given: Parameters<typeof opened>): Promise<Variants> {
  const variants = await opened(...given);
  if (!('base' in variants)) throw new Error(variants.why);
  return variants;
}

test('of five judgements four are of files with one more line, newer than all others; and so are the five of a check', async () => {
  const seen: [string, boolean][] = [];
  const variants = await variantsOf(({ text, app }) => {
    const [file, other] = ['a.js', 'made.js'].map((name) => statSync(join(app, name)).mtimeMs);
    seen.push([text, Number(file) > Number(other)]);
    return 'pass';
  });
  const changed = Array.from({ length: 4 }, () => [`${original}\n`, true]);
  expect(seen).toEqual([[original, false], ...changed]);
  expect(await variants.check()).toBeUndefined();
  expect(seen.slice(5)).toEqual([...changed, changed[0]]);
});

test.for<[string, Parameters<typeof opened>, RegExp]>([
  [
    'a judge that notices a changed file',
    [({ text }) => (text === original ? 'pass' : 'fail')],
    /^the product passes, but not when a\.js has one more comment at the end: judge: it says so; .*--build/,
  ],
  [
    'a build that notices a changed file',
    [() => 'pass', { build: (app) => exited(readFileSync(join(app, 'a.js'), 'utf8') === original ? 0 : 1) }],
    /^the product passes, but not when a\.js has .*: the build fails: exit code 1; /,
  ],
  [
    'a judge that fails from the third time on',
    [
      (
        (count) => () =>
          ++count > 2 ? 'fail' : 'pass'
      )(0),
    ],
    /^the product without a mutant does not pass: judge/,
  ],
  [
    'a judge that fails the third time',
    [
      (
        (count) => () =>
          ++count === 3 ? 'fail' : 'pass'
      )(0),
    ],
    /^the product without a mutant does not pass: judge/,
  ],
  [
    'a judge without what it needs',
    [({ text }) => (text === original ? 'pass' : 'infra')],
    /^the product without a mutant does not pass: judge/,
  ],
])('with %s there is no number, and the words say which', async ([, given, words]) => {
  expect(await opened(...given)).toMatchObject({ why: expect.stringMatching(words) });
});

test('a check judges what has timed out once more', async () => {
  const answers: Verdict['what'][] = [];
  const variants = await variantsOf(() => answers.shift() ?? 'pass', { jobs: 2 });
  answers.push('pass', 'timed_out', 'timed_out', 'pass', 'pass', 'pass', 'pass');
  expect(await variants.check()).toBeUndefined();
  expect(answers).toEqual([]);
  answers.push('pass', 'timed_out', 'pass', 'pass', 'pass', 'timed_out');
  expect(await variants.check()).toEqual({ why: 'judge: it says so', isInfra: false });
});

test.for<[string, (app: string) => Exit, string]>([
  ['that fails', () => exited(1), 'not_built'],
  ['that takes too long', () => ({ kind: 'timed_out', afterMs: 5000 }), 'no_verdict'],
  ['that does not notice', () => exited(0), 'survived'],
])('a mutant with a build %s', async ([, build, outcome]) => {
  const isMutant = (app: string) => readFileSync(join(app, 'a.js'), 'utf8') === 'two\n';
  const variants = await variantsOf(() => 'pass', {
    build: (app) => (isMutant(app) ? build(app) : exited(0)),
  });
  expect(await variants.judge(mutant)).toBe(outcome);
});

/** Files of a margin. */
const margin = { bytes: 1024 ** 3, files: 10 };

/** The disk always looks as if it had got fuller. */
function filling() {
  let looks = 0;
  return () => {
    looks += 1;
    return { bavail: 10_000_000, bsize: 4096, ffree: 10_000_000 - 100 * looks };
  };
}

const write = (folder: string, count: number): void => {
  mkdirSync(folder, { recursive: true });
  for (let n = 0; n < count; n++) writeFileSync(join(folder, String(n)), '');
};

const manyTurns = async (signal: AbortSignal | undefined): Promise<void> => {
  for (let n = 0; n < 50 && signal?.aborted !== true; n++)
    await new Promise((resolve) => setImmediate(resolve));
};

test('a build and a judge may use as much of the disk as without a mutant, and a margin', async () => {
  let more = 0;
  const build = (app: string) => {
    if (!existsSync(join(app, 'out'))) write(join(app, 'out'), 50);
    return exited(0);
  };
  const variants = await variantsOf(
    async ({ place, signal }) => {
      write(join(place, 'used'), 50 + more);
      await manyTurns(signal);
      return signal.aborted ? 'cancelled' : 'pass';
    },
    { build, diskLimit: (usual) => limitedDisk(usual, margin, filling()) },
  );
  const outcomes = [];
  for (more of [0, 8, 12]) outcomes.push(await variants.judge(mutant));
  expect(outcomes).toEqual(['survived', 'survived', 'killed']);
});

test('a mutant whose build fills the disk is not built: no judge has noticed it', async () => {
  const variants = await variantsOf(() => 'pass', {
    build: async (app, signal) => {
      if (readFileSync(join(app, 'a.js'), 'utf8') !== 'two\n') return exited(0);
      write(join(app, 'out'), 50);
      await manyTurns(signal);
      return signal?.aborted === true ? { kind: 'cancelled' } : exited(0);
    },
    diskLimit: (usual) => limitedDisk(usual, margin, filling()),
  });
  expect(await variants.judge(mutant)).toBe('not_built');
});

test.for([
  ['fail', 'no_verdict'],
  ['pass', 'survived'],
] as const)('on a disk without space left, "%s" is %s', async ([what, outcome]) => {
  const variants = await variantsOf(({ text }) => (text === 'two\n' ? what : 'pass'), {
    diskLimit: (usual) => limitedDisk(usual, margin, () => ({ bavail: 1, bsize: 4096, ffree: 1000 })),
  });
  expect(await variants.judge(mutant)).toBe(outcome);
  expect(await variants.judge(unchanged)).toBe('survived');
});
