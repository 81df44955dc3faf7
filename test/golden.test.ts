/** Whole runs as golden folders (test/golden/README.md). `npx vitest run test/golden.test.ts -u` writes what is expected
 *  anew: read the difference. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { realClock } from '../src/platform/clock.ts';
import { removeTree } from '../src/platform/files/remove.ts';
import { cleanEnv, root } from './support/cli.ts';
import { eventLines, type Plain, resultText, traceLines } from './support/golden/records.ts';
import { treeText } from './support/golden/tree.ts';
import { factory } from './support/in-process.ts';
import { killedWhen } from './support/killed.ts';

/** One step of a story. `<home>` is the folder of the story. */
type Step = {
  /** A command line of `factory`, called in this process; words are parted by blanks. */
  readonly factory?: string;
  /** The same, as a process that is killed as soon as the file `until` exists. */
  readonly killed?: string;
  readonly until?: string;
  /** A line of shell. */
  readonly sh?: string;
  /** Exit code; 0 by default. */
  readonly exit?: number;
  /** Parts of standard output and standard error together, or, of a shell line, all of it. */
  readonly prints?: readonly string[];
  /** Sets the clock for this step and the next ones. */
  readonly at?: string;
};
type Story = {
  readonly steps: readonly Step[];
  readonly env?: Readonly<Record<string, string>>;
  /** Programs without which the story is skipped. */
  readonly needs?: readonly string[];
  /** Texts that must be in no file of a run and in no output. */
  readonly absent?: readonly string[];
  /** Runs whose trace, events, result and tree are expected; the others are only looked through for `absent`. */
  readonly runs?: readonly string[];
  /** Which of its records are expected, where not all are: pipelines of ours have more in them than a story shows. */
  readonly expect?: readonly (keyof typeof records)[];
};
const records = {
  events: (run: string, plain: Plain) => eventLines(readFileSync(join(run, 'events.jsonl'), 'utf8'), plain),
  trace: (run: string, plain: Plain) => traceLines(readFileSync(join(run, 'trace.jsonl'), 'utf8'), plain),
  result: (run: string, plain: Plain) => resultText(readFileSync(join(run, 'result.json'), 'utf8'), plain),
  tree: treeText,
};
const names = { events: 'events.jsonl', trace: 'trace.jsonl', result: 'result.json', tree: 'tree.txt' };
const oneRun: Story = {
  steps: [{ factory: 'run pipeline.dot --run-id golden --workdir workdir --agent fake' }],
};

const folder = join(import.meta.dirname, 'golden');
const stories = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => {
    const file = join(folder, name, 'story.json');
    const story: Story = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : oneRun;
    return { name, story };
  });
const has = (program: string) => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
};

// The products start some twenty processes each.
vi.setConfig({ testTimeout: 180_000 });

const homes: string[] = [];
afterEach(async () => {
  for (const home of homes.splice(0)) await removeTree(home);
});

test.for(stories)('$name', async ({ name, story }, { skip }) => {
  const missing = (story.needs ?? []).filter((program) => !has(program));
  if (missing.length > 0) skip(`there is no ${missing.join(', ')} here`);
  const source = join(folder, name);
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'golden-')));
  homes.push(home);
  cpSync(source, home, { recursive: true, filter: (path) => path !== join(source, 'expected') });
  const there = (text: string) => text.replaceAll('<home>', home).replaceAll('<root>', root);
  const env: Record<string, string> = { HOME: home };
  for (const [key, value] of Object.entries(story.env ?? {})) env[key] = there(value);

  let now = '2026-01-02T03:04:05.000Z';
  let printed = '';
  for (const step of story.steps) {
    now = step.at ?? now;
    const clock = { ...realClock, now: () => new Date(now) };
    const ran = await take(step, home, env, clock, there);
    printed += ran.text;
    expect(ran.code, `${JSON.stringify(step)}\n${ran.text}`).toBe(step.exit ?? 0);
    if (step.sh !== undefined && step.prints !== undefined)
      expect(ran.text.trimEnd().split('\n')).toEqual(step.prints);
    else for (const part of step.prints ?? []) expect(ran.text).toContain(part);
  }

  const runs = join(home, '.factory/runs');
  for (const run of story.runs ?? ['golden']) {
    const expected = join(source, 'expected', ...(story.runs === undefined ? [] : [run]));
    const plain: Plain = (text) => text.replaceAll(join(runs, run), '<run>').replaceAll(home, '<home>');
    for (const one of story.expect ?? (['events', 'trace', 'result', 'tree'] as const))
      await expect(records[one](join(runs, run), plain)).toMatchFileSnapshot(join(expected, names[one]));
  }
  for (const text of story.absent ?? []) {
    expect(printed).not.toContain(text);
    const found = readdirSync(join(home, '.factory'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => readFileSync(file).includes(text));
    expect(found, `hold "${text}"`).toEqual([]);
  }
});

async function take(
  step: Step,
  home: string,
  env: Readonly<Record<string, string>>,
  clock: typeof realClock,
  there: (text: string) => string,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const words = (line: string) => there(line).split(' ');
  if (step.factory !== undefined) {
    const { code, stdout, stderr } = await factory(words(step.factory), { cwd: home, env, clock });
    return { code, text: stdout + stderr };
  }
  if (step.killed !== undefined) {
    await killedWhen(words(step.killed), { cwd: home, env }, () => existsSync(join(home, step.until ?? '')));
    return { code: 0, text: '' };
  }
  try {
    const text = execFileSync('bash', ['-c', there(step.sh ?? '')], {
      cwd: home,
      env: cleanEnv({ ...env, GIT_CONFIG_GLOBAL: '/dev/null' }),
      encoding: 'utf8',
    });
    return { code: 0, text };
  } catch (error) {
    return { code: 1, text: String(error) };
  }
}
