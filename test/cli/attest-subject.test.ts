/** An attestation passes only what has seen the files that it is about. */
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { realClock } from '../../src/platform/clock.ts';
import { acquireLock } from '../../src/run/lock.ts';
import { root } from '../support/cli.ts';
import { type Ground, ground } from '../verify/ground.ts';

const { privateKey } = generateKeyPairSync('ed25519');

/** Only a node that runs scenarios may report what they said. */
const report = (total = 2) =>
  JSON.stringify({
    context_updates: {
      ...{ 'judge.passed': total, 'judge.total': total, 'judge.class': '', 'judge.status': 'pass' },
      ...{ 'judge.floor': 'held' },
    },
  });
/** In place of the scenarios: what bash reads first (`BASH_ENV`). */
const answering = `factory() { printf '%s' '${report()}' > "$FACTORY_OUTPUT"; }\n`;
const judge = 'judge [shape=parallelogram, shell="bash", tool_command="factory scenario run scenarios"]';

const plain = (nodes: string, way: string) => `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]
  made [shape=parallelogram, tool_command="echo made > made.txt; echo log > skipped.log"]
  ${judge}
  ${nodes}
  ${way} }`;
/** The pipeline of a build, with more behind its proof. */
const building = (nodes: string, way: string) =>
  readFileSync(join(root, 'pipelines/build.dot'), 'utf8')
    .replace('proof -> exit [condition="outcome=success"]', `${nodes}\n ${judge}\n ${way}`)
    .replaceAll('@../prompts', `@${join(root, 'prompts')}`);
const later = 'later [shape=parallelogram, tool_command="echo more > later.txt"]';
const ignored = 'later [shape=parallelogram, tool_command="echo more > skipped.log"]';

let it: Ground;
beforeAll(async () => {
  it = await ground(
    {
      'sign.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      'work/.gitignore': '*.log\n',
      'work/judge.sh': answering,
      'repo/judge.sh': answering,
      'last.dot': plain('', 'start -> made -> judge -> exit'),
      'ignored.dot': plain(ignored, 'start -> made -> judge -> later -> exit'),
      'before.dot': plain(later, 'start -> made -> judge -> later -> exit'),
      'early.dot': plain(
        'early [shape=parallelogram, tool_command="test ! -e made.txt"]',
        'start -> early -> made -> judge -> exit',
      ),
      'suite/a.sh': '# the suite\n',
      'repo/scripts/scenarios/a.sh': '# committed\n',
      'repo/.gitignore': '*.log\n',
      'repo/kept.log': 'tracked, though ignored\n',
      'built.dot': building('', 'proof -> judge [condition="outcome=success"]; judge -> exit'),
      'uncommitted.dot': building(
        later,
        'proof -> later [condition="outcome=success"]; later -> judge; judge -> exit',
      ),
    },
    { BASH_ENV: './judge.sh' },
  );
}, 60_000);
afterAll(() => it[Symbol.asyncDispose]());

const signed = (run: string) => it.called(['attest', run], { key: 'sign.pem', output: `${run}.jsonl` });
async function attested(run: string) {
  const told = await signed(run);
  expect({ code: told.code, err: told.err }).toEqual({ code: 0, err: '' });
  const [about, tests] = it
    .read(`${run}.jsonl`)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(Buffer.from(JSON.parse(line).payload, 'base64').toString()));
  const { predicate } = about;
  const trees = about.subject.flatMap(({ digest }: { digest: { gitTree?: string } }) => digest.gitTree ?? []);
  return { predicate, tests: tests?.predicate, tree: trees[0] };
}
const ran = async (runId: string, dot: string, more: Readonly<Record<string, string>> = {}) =>
  expect((await it.run(dot, { runId, workdir: 'work', ...more })).code).toBe(0);
const build = async (runId: string, dot: string, more: Readonly<Record<string, string>> = {}) => {
  const flags = { runId, agent: 'scripted', script: 'build.json', var: ['plan=plan.json'], workdir: 'work' };
  const told = await it.run(dot, { ...flags, ...more });
  expect(told.code, told.err + told.out).toBe(0);
};
const other = expect.stringMatching(/^the scenarios judged other files than the attested ones: judge@1 had /);

test.for(['last', 'ignored'] as const)('a product that the scenarios saw passes: %s', async (name) => {
  await ran(name, `${name}.dot`, { holdout: 'suite' });
  const { predicate, tests, tree } = await attested(name);
  expect(tests).toMatchObject({ result: 'PASSED', warnedTests: [] });
  expect(tests.passedTests).toContain('scenario 2 of 2');
  expect(predicate.judged).toMatchObject({ execution: 'judge@1', tree, inherited: null, sealed: true });
  expect(predicate.not_checked).not.toContainEqual(other);
});

test('a product that has changed since the scenarios ran is warned of, with the tree that they saw', async () => {
  await ran('before', 'before.dot');
  const { predicate, tests, tree } = await attested('before');
  expect(tests).toMatchObject({ result: 'WARNED' });
  expect(tests.warnedTests).toEqual(expect.arrayContaining(['scenario 1 of 2', 'scenario 2 of 2']));
  expect(tests.passedTests).toEqual(['echo more > later.txt']);
  expect(predicate.judged).toMatchObject({ tree: expect.stringMatching(/^[0-9a-f]{40}$/), sealed: false });
  expect(predicate.judged.tree).not.toBe(tree);
  expect(predicate.not_checked).toContainEqual(other);
  expect(predicate.not_checked).toContainEqual(expect.stringContaining('the run has no holdout'));
});

test('a command that saw only the files before the work tests nothing of the product', async () => {
  await ran('early', 'early.dot', { holdout: 'suite' });
  const { predicate, tests } = await attested('early');
  expect(tests).toMatchObject({ result: 'PASSED' });
  expect(tests.passedTests).not.toContain('test ! -e made.txt');
  expect(predicate.commands).toContainEqual(expect.objectContaining({ node: 'early', files: 'start' }));
  expect(predicate.not_checked).toContain(
    'the files before the work, not the attested ones, were seen by test ! -e made.txt',
  );
});

test('the commit that the scenarios judged passes; a workspace with more than the commit does not', async () => {
  await build('built', 'built.dot');
  const built = await attested('built');
  const { commit } = built.predicate.commits.at(-1);
  expect(built.tests).toMatchObject({ result: 'PASSED', warnedTests: [] });
  expect(built.predicate.judged).toMatchObject({ commit, tree: built.tree });
  await build('more', 'uncommitted.dot');
  const more = await attested('more');
  expect(more.tree).toBe(built.tree);
  expect(more.tests).toMatchObject({ result: 'WARNED' });
  expect(more.tests.warnedTests).toContain('scenario 1 of 2');
  expect(more.predicate.judged).toMatchObject({ commit: null });
  expect(more.predicate.not_checked).toContainEqual(other);
}, 120_000);

test('scenarios that a commit has, and the workspace has not, are no difference', async () => {
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], {
      cwd: join(it.path, 'repo'),
    });
  git('init', '--quiet');
  git('add', '--all', '--force');
  git('commit', '--quiet', '--message', 'all');
  await build('tracked', 'built.dot', { workdir: 'repo', holdout: 'repo/scripts/scenarios' });
  const { predicate, tests, tree } = await attested('tracked');
  expect(tests).toMatchObject({ result: 'PASSED', warnedTests: [] });
  expect(predicate.judged).toMatchObject({ tree, sealed: true });
}, 60_000);

test('what a fork has inherited is marked, and only its own scenarios pass', async () => {
  await ran('origin', 'last.dot', { holdout: 'suite' });
  for (const [runId, at] of [
    ['kept', { at: 'judge@1' }],
    ['again', { before: 'judge' }],
  ] as const)
    expect((await it.fork('origin', { ...at, runId })).code).toBe(0);
  const kept = await attested('kept');
  expect(kept.predicate.judged).toMatchObject({ inherited: 'origin' });
  expect(kept.tests).toMatchObject({ result: 'WARNED' });
  expect(kept.tests.warnedTests).toContain('scenario 1 of 2');
  expect(kept.predicate.not_checked).toContain(
    'by which suite, pipeline and sandbox the scenarios of judge@1 judged in run origin',
  );
  const again = await attested('again');
  expect(again.predicate.judged).toMatchObject({ inherited: null });
  expect(again.tests.result).toBe('PASSED');
  const inherited = (node: string) =>
    again.predicate.commands.find((one: { node: string }) => one.node === node).inherited;
  expect([inherited('made'), inherited('judge')]).toEqual(['origin', null]);
  expect(again.predicate.sandbox).toMatchObject({ unknown_for: 2, earlier: [] });
  expect(again.predicate.not_checked).toContainEqual(
    expect.stringMatching(/^2 executions ran in run origin, .* in which sandbox is unknown$/),
  );
});

test('a running run is neither verified nor signed', async () => {
  await ran('going', 'last.dot');
  const held = await acquireLock(it.dir('going'), { clock: realClock });
  if (held.kind !== 'acquired') throw new Error(held.why);
  for (const told of [await signed('going'), await it.called(['verify', 'going'])])
    expect(told).toMatchObject({ code: 2, err: expect.stringContaining('run going is running') });
  expect(() => it.read('going.jsonl')).toThrow();
  await held.lock.release();
  expect((await signed('going')).code).toBe(0);
});
