/** The scenarios of the example: the product of the prepared answers passes, and mutants of it fail. */
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, expect, test } from 'vitest';
import { parseProposal } from '../../src/builder/proposal.ts';
import { cleanEnv, type Home, home, root } from '../support/cli.ts';

const example = join(root, 'examples/linkcheck');
const suite = [
  'linkcheck_user_scenarios.sh',
  'linkcheck_component_checks.sh',
  'linkcheck_markdown_user_scenarios.sh',
  'linkcheck_command_user_scenarios.sh',
] as const;
type Script = (typeof suite)[number];

let it: Home;

beforeAll(async () => {
  it = await home();
  // All answers in order: later ones overwrite mistakes of earlier ones.
  const answers = (await readdir(join(example, 'answers')))
    .filter((name) => name.startsWith('propose'))
    .sort();
  for (const name of answers) {
    const parsed = parseProposal(await readFile(join(example, 'answers', name), 'utf8'));
    if ('stage' in parsed) throw new Error(parsed.reason);
    for (const { path, content } of parsed.proposal.writes) {
      await mkdir(dirname(join(it.path, 'product', path)), { recursive: true });
      await writeFile(join(it.path, 'product', path), content);
    }
  }
  return () => it[Symbol.asyncDispose]();
});

const judge = (script: Script, app: string, mode: string) =>
  execa('bash', [join(example, 'scenarios', script), join(it.path, app)], {
    cwd: it.path,
    env: cleanEnv({ SCENARIO_MODE: mode }),
    extendEnv: false,
    reject: false,
  });

test.concurrent.for(suite)(
  '%s passes by itself, without a product, and on the right product',
  async (script, { expect }) => {
    const selftest = await judge(script, 'nowhere', 'selftest');
    expect(selftest.exitCode, selftest.stdout).toBe(0);
    const live = await judge(script, 'product', 'live');
    expect(live.exitCode, live.stdout).toBe(0);
    expect((await judge(script, 'product', 'other')).exitCode).toBe(2);
  },
);

/** Mutants: name, file, replacement, the scenario that fails and its message. */
const mutants: readonly (readonly [string, string, string, string, Script, RegExp])[] = [
  [
    'accepts every heading',
    'src/check.js',
    'anchors.get(place).has(fragment)',
    'true',
    suite[0],
    /not reported[\s\S]*#nowhere/,
  ],
  ['always exits with 0', 'bin/linkcheck.js', '? 1 : 0', '? 0 : 0', suite[0], /expected: 1\n {2}observed: 0/],
  [
    'needs a package',
    'package.json',
    '"type":',
    '"dependencies": { "left": "1" }, "type":',
    suite[1],
    /no dependencies[\s\S]*needs left/,
  ],
  [
    'ends a fence at any fence',
    'src/markdown.js',
    'marks.startsWith(open)',
    "marks !== ''",
    suite[2],
    /nothing\n {2}observed: pages\/code\.md:\d+: no such file: never-behind-/,
  ],
  [
    'shows where in its program a message arose',
    'bin/linkcheck.js',
    'expected ? error.message : error.stack',
    'error.stack',
    suite[3],
    /a message, not where in the program it arose/,
  ],
];

test.concurrent.for(mutants)(
  'a product that %s fails with a message',
  async ([what, file, from, to, script, words], { expect }) => {
    const app = `mutant-${what.replaceAll(' ', '-').replaceAll('/', '_')}`;
    await cp(join(it.path, 'product'), join(it.path, app), { recursive: true });
    const text = await readFile(join(it.path, app, file), 'utf8');
    expect(text).toContain(from);
    await writeFile(join(it.path, app, file), text.replace(from, to));
    const live = await judge(script, app, 'live');
    expect(live.exitCode).toBe(1);
    expect(live.stdout).toMatch(words);
  },
);

test('each has a canary, so that a leak can be found', async () => {
  const marks = await Promise.all(
    suite.map(
      async (script) =>
        /^# (canary: \S{20,})$/m.exec(await readFile(join(example, 'scenarios', script), 'utf8'))?.[1],
    ),
  );
  expect(new Set(marks).size).toBe(suite.length);
  expect(marks).not.toContain(undefined);
});
