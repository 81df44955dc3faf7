/** `factory submit`: what it queues, and what it refuses before anything is queued. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SubmitReport } from '../../src/core/records/queue-report.ts';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { openWorkerFile } from '../../src/fleet/workers.ts';
import { realClock } from '../../src/platform/clock.ts';
import { thisProcess } from '../../src/platform/process/table.ts';
import { call, type Flags } from '../support/verb.ts';

const plain = (attributes = '') => `digraph g {
  workdir="none" ${attributes}
  start [shape=Mdiamond]
  ask [prompt="do \${var.what}"]
  exit [shape=Msquare]
  start -> ask -> exit
}`;

let top = '';
const runsDir = () => join(top, '.factory/runs');
const env = { PATH: process.env['PATH'], HOME: '/nonexistent' };
const submit = (names: readonly string[], flags: Flags = {}, more: Record<string, string> = {}) =>
  call(['submit', ...names], { ...flags, color: false }, { cwd: top, env: { ...env, ...more } });
const submitted = async (...given: Parameters<typeof submit>): Promise<SubmitReport> => {
  const [names, flags, more] = given;
  const { code, out, err } = await submit(names, { ...flags, json: true }, more);
  expect([code, err]).toEqual([0, expect.stringMatching(/^$|no worker runs/)]);
  return JSON.parse(out) as SubmitReport;
};
async function jobs() {
  const queue = await openQueue(runsDir(), { clock: realClock, env });
  if ('problems' in queue) throw new Error('no queue');
  const all = await queue.list();
  await queue.close();
  return all;
}

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'factory-submit-'));
  mkdirSync(join(top, 'specs/more'), { recursive: true });
  mkdirSync(join(top, 'project'));
  writeFileSync(join(top, 'specs/b.md'), '# The alarm\n\nIt rings.\n');
  writeFileSync(join(top, 'specs/a.txt'), 'A clock.\n');
  writeFileSync(join(top, 'specs/notes.json'), '{}');
  writeFileSync(join(top, 'specs/more/c.md'), '# Not this one\n');
  writeFileSync(join(top, 'mine.dot'), plain('vars="what=@specs/b.md"'));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

test('a pipeline, a spec and the specs of a folder are queued in their order, with absolute paths', async () => {
  const report = await submitted(['mine.dot', 'specs/b.md', 'specs'], { workdir: 'project' });
  expect(report.runs.map(({ title, state, already }) => [title, state, already])).toEqual([
    ['mine.dot', 'waiting', false],
    ['The alarm', 'waiting', false],
    ['a.txt', 'waiting', false],
    ['The alarm', 'waiting', false],
  ]);
  const workdir = `--workdir=${join(top, 'project')}`;
  const spec = (name: string) => ['compile-and-build', `--var=spec=${join(top, 'specs', name)}`, workdir];
  expect((await jobs()).map(({ job }) => [job.run_id, job.request])).toEqual(
    [[join(top, 'mine.dot'), workdir], spec('b.md'), spec('a.txt'), spec('b.md')].map((run, at) => [
      report.runs[at]?.run_id,
      { cwd: top, run, resume: [] },
    ]),
  );
});

test('numbered specs of a folder are queued in the order of their numbers', async () => {
  mkdirSync(join(top, 'parts'));
  for (const name of ['10-c.md', '2-b.md', '1-a.md']) writeFileSync(join(top, 'parts', name), 'It rings.\n');
  const { runs } = await submitted(['parts'], { inOrder: true });
  expect(runs.map(({ title }) => title)).toEqual(['1-a.md', '2-b.md', '10-c.md']);
});

test('flags are passed on as they were typed, those with paths as absolute ones', async () => {
  writeFileSync(
    join(top, 'prices.json'),
    '{"format": "factory-prices/1", "dated": "2026-01-31", "models": {}}',
  );
  writeFileSync(join(top, 'mine.dot'), plain('vars="what, spec=@specs/b.md"'));
  await submitted(['mine.dot'], {
    ...{ var: ['what=@specs/a.txt', 'spec=specs/b.md'], maxWall: '2h', envPass: 'A,B', strict: true },
    ...{ prices: 'prices.json', notify: 'say done', label: ['night', 'big'], agent: 'codex', name: 'my-run' },
    ...{ priority: -5, allowDirty: true },
  });
  const [one] = await jobs();
  expect(one?.job).toMatchObject({ title: 'my-run', priority: -5, labels: ['big', 'night'] });
  expect(one?.job.request.run.toSorted()).toEqual(
    [
      join(top, 'mine.dot'),
      `--var=what=@${join(top, 'specs/a.txt')}`,
      `--var=spec=${join(top, 'specs/b.md')}`,
      ...['--max-wall=2h', '--env-pass=A,B', `--prices=${join(top, 'prices.json')}`, '--agent=codex'],
      ...['--label=night', '--label=big', '--strict', '--allow-dirty', '--notify=say done'],
      '--name=my-run',
    ].toSorted(),
  );
  expect(one?.job.request.resume).toEqual(['--notify=say done']);
});

test('what the environment sets becomes flags, except secrets; a flag goes first', async () => {
  const set = { FACTORY_AGENT: 'claude', FACTORY_MODEL: 'small', FACTORY_SANDBOX: 'none' };
  await submitted(['mine.dot'], { model: 'large' }, { ...set, OPENAI_API_KEY: 'sk-0123456789abcdef' });
  const [one] = await jobs();
  expect(one?.job.request.run.slice(1).toSorted()).toEqual(
    ['--agent=claude', '--model=large', '--sandbox=none'].toSorted(),
  );
  expect(JSON.stringify(one)).not.toContain('sk-0123456789');
});

test('an agent of the environment is not passed on to nodes whose provider goes before it', async () => {
  writeFileSync(
    join(top, 'mine.dot'),
    plain('vars="what=x"').replace('ask [', 'ask [llm_provider=anthropic, '),
  );
  const { code, err } = await submit(['mine.dot'], {}, { FACTORY_AGENT: 'codex' });
  expect([code, err]).toEqual([0, expect.stringContaining('FACTORY_AGENT is not passed on: node "ask"')]);
  expect((await jobs())[0]?.job.request.run).toEqual([join(top, 'mine.dot')]);
  const fake = await submit(['mine.dot'], {}, { ATTRACTION_BACKEND: 'fake' });
  expect([fake.code, fake.err]).toEqual([
    2,
    expect.stringContaining('replaces also the agent of node "ask"'),
  ]);
});

test.for<[string, readonly string[], Flags, string]>([
  ['a missing pipeline', ['other.dot'], {}, 'there is no pipeline file other.dot'],
  ['a name of nothing', ['compile-and-bild'], {}, 'did you mean "compile-and-build"'],
  ['a folder without specs', ['project'], {}, 'the folder project has no specs'],
  ['standard input', ['/dev/stdin'], {}, 'is not there any more'],
  ['an empty spec among others', ['specs', 'empty.md'], {}, 'empty.md is empty'],
  ['a pipeline with an error', ['bad.dot'], {}, 'exit'],
  ['an undeclared variable', ['mine.dot'], { var: 'who=me' }, 'the pipeline declares no variable "who"'],
  ['a missing workdir', ['specs'], { workdir: 'nowhere' }, 'nowhere does not exist'],
  ['an unknown agent', ['mine.dot'], { agent: 'codx' }, 'did you mean "codex"'],
  ['a price file that is missing', ['mine.dot'], { prices: 'none.json' }, 'cannot be read'],
  ['a limit that is none', ['mine.dot'], { maxWall: 'soon' }, '--max-wall soon'],
  ['a label out of form', ['mine.dot'], { label: 'a b' }, 'is not a label'],
  ['a name out of form', ['mine.dot'], { name: 'a\nb' }, 'has a line end'],
  ['a priority beyond the bounds', ['mine.dot'], { priority: 1000 }, 'from -999 to 999'],
  ['a time that has passed', ['mine.dot'], { notBefore: '2020-01-01T00:00:00Z' }, 'has passed'],
  ['a time that never comes', ['mine.dot'], { notBefore: '2026-02-30T00:00:00Z' }, 'never comes'],
  ['a key for several', ['specs'], { key: 'k' }, '--key is for one run, and these are 2'],
  ['a name for several', ['specs'], { name: 'k' }, '--name is for one run, and these are 2'],
  ['a key that is no run id', ['mine.dot'], { key: '../x' }, '--key: the run id "../x"'],
  ['a key that is a folder of the queue', ['mine.dot'], { key: 'queue' }, '--key:'],
])('%s refuses all that is submitted', async ([, names, flags, message]) => {
  writeFileSync(join(top, 'empty.md'), '');
  writeFileSync(join(top, 'bad.dot'), 'digraph g { start [shape=Mdiamond] }');
  const { code, err } = await submit(names, flags);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  expect(existsSync(runsDir())).toBe(false);
});

test('everything that is wrong is printed, once', async () => {
  writeFileSync(join(top, 'specs/c.md'), ' ');
  writeFileSync(join(top, 'specs/d.md'), ' ');
  const { err } = await submit(['specs']);
  expect(err.match(/c\.md is empty|d\.md is empty/g)).toEqual(['c.md is empty', 'd.md is empty']);
  const dirs = await submit(['specs'], { workdir: 'nowhere' });
  expect(dirs.err.match(/does not exist/g)).toHaveLength(1);
});

test('a key submits once, as long as its job or its run is there', async () => {
  await submitted(['mine.dot'], { key: 'nightly-1', notBefore: '8h' });
  const again = await submitted(['gone.dot'], { key: 'nightly-1' });
  expect(again.runs).toMatchObject([{ run_id: 'nightly-1', state: 'later', already: true }]);
  mkdirSync(join(runsDir(), 'nightly-2'));
  const begun = await submit(['mine.dot'], { key: 'nightly-2' });
  expect(begun.out).toContain('already submitted: nightly-2 (the run is there)');
  expect((await jobs()).map(({ job }) => job.run_id)).toEqual(['nightly-1']);
});

test('in order, the first one waits for its time and each other for the one before it', async () => {
  const { runs } = await submitted(['specs', 'mine.dot'], { inOrder: true, notBefore: '8h' });
  const ids = runs.map(({ run_id }) => run_id);
  expect((await jobs()).map(({ job, state }) => [job.run_id, state, job.after])).toEqual([
    [ids[0], 'later', undefined],
    [ids[1], 'held', ids[0]],
    [ids[2], 'held', ids[1]],
  ]);
});

test('a label that no living worker takes is refused; without a worker there is a warning', async () => {
  const self = thisProcess();
  const file = openWorkerFile(runsDir(), self, realClock);
  const facts = {
    ...{ slots: 1, busy: 0, engine_starts: 0, take_overs: 0, refuses: '' },
    ...{ version: '1', draining: false, leaves: {} },
  };
  file.write({ ...facts, labels: ['night'] });
  const refused = await submit(['mine.dot'], { label: 'gpu' });
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringContaining('no worker takes the label "gpu"'),
  ]);
  expect((await submit(['mine.dot'], { label: 'night' })).err).toBe('');
  file.remove();
  expect((await submit(['mine.dot'], { label: 'gpu' })).err).toContain('no worker runs');
});

test('a link to a spec is a spec, and quiet output is its run id', async () => {
  symlinkSync(join(top, 'specs/b.md'), join(top, 'project/link.md'));
  const { out } = await submit(['project'], { quiet: true });
  const [one] = await jobs();
  expect(out).toBe(`${one?.job.run_id}\n`);
});
