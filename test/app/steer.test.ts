/** Notes of people to the agents of a run: each is in the prompts of exactly one execution. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { processMarker } from '../../src/app/run/run-state.ts';
import { steerRun } from '../../src/app/steer-run.ts';
import { openRun } from '../../src/run/open-run.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { house } from '../support/house.ts';

const dot = `digraph t { workdir="none"
  start [shape=Mdiamond]; done [shape=Msquare]; ask [shape=hexagon]
  work [prompt="Do it."]; check [prompt="Check it.", goal_gate=true, retry_target=work]
  start -> ask; ask -> work [label=Go]; work -> check [condition="outcome=success"]; check -> done }`;

const script = JSON.stringify({
  format: 'factory-script/1',
  answers: { work: [{ text: 'done' }, { text: 'done' }], check: [{ json: { outcome: 'success' } }] },
});

/** A run that asks a person before its first agent. */
async function suspended(more: Readonly<Record<string, string>> = {}) {
  const it = await house({ 'p.dot': dot, 's.json': script, ...more });
  const runDir = join(it.path, '.factory/runs/r1');
  const clock = { now: () => new Date('2026-03-01T00:00:00Z') };
  const first = await it.run('p.dot', { runId: 'r1', script: 's.json' });
  if (first.code !== 75) throw new Error(first.err);
  return {
    ...it,
    runDir,
    steer: (text: string, request: object = {}) =>
      steerRun(runDir, { text, by: 'Ada', from: 'command', ...request }, { clock, env: {} }),
    finish: async () => {
      const answered = await it.called(['answer', 'r1', '--no-resume'], { choice: 'Go' });
      if (answered.code !== 0) throw new Error(answered.err);
      return it.resume('r1');
    },
    visits: (run = 'r1') =>
      it.records(`.factory/runs/${run}/journal.jsonl`).filter(({ type }) => type === 'Visit'),
    problems: async (run = 'r1') =>
      (await verifyRun({ runDir: join(it.path, '.factory/runs', run), env: {} })).problems,
    prompt: (node: string, run = 'r1') => it.read(`.factory/runs/${run}/${node}/prompt.md`),
  };
}

const heading =
  'Notes from people, given while this run was under way. They take precedence over what is above:';

test('a fork gives its first agent the note that it begins with; without an agent nothing is created', async () => {
  await using it = await suspended();
  expect((await it.finish()).code).toBe(0);
  const at = { at: 'check@1', before: true };
  const forked = await it.fork('r1', { ...at, note: ' Look at the totals. ', runId: 'r2', script: 's.json' });
  expect(forked.code, forked.err).toBe(0);
  expect(it.prompt('check', 'r2')).toMatch(/Notes from people.*\n- .*: Look at the totals\.\n/);
  expect(it.prompt('work', 'r2')).not.toContain('Look at the totals.');
  expect(await it.problems('r2')).toEqual([]);
  await writeFile(join(it.path, 'tools.dot'), 'digraph t { workdir="none"; start; exit; start -> exit }');
  await it.run('tools.dot', { runId: 'r3' });
  const refused = await it.fork('r3', { at: 'start', note: 'Be quick.', runId: 'r4' });
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringContaining('no node of run r4 asks an agent'),
  ]);
  expect(existsSync(join(it.path, '.factory/runs/r4'))).toBe(false);
});

test('the next agent has the notes at the end of its prompt, in their order, and no other agent has them', async () => {
  await using it = await suspended();
  expect(await it.steer('Keep the old format.\nAnd the tests.')).toMatchObject({
    note: { note: 1, by: 'Ada' },
  });
  await it.steer('Use less ink.', { by: ' Bob \n B ' });
  expect(await it.problems()).toEqual([]);
  expect((await it.show('r1')).out).toContain(
    'note 1 by Ada (command), waits for the next agent: Keep the old format.',
  );
  {
    const r = await it.finish();
    expect(r.code, r.err).toBe(0);
  }
  const notes = ['- Ada: Keep the old format.', '  And the tests.', '- Bob B: Use less ink.'];
  expect(it.prompt('work')).toBe(['Do it.', '', heading, ...notes, ''].join('\n'));
  expect(it.prompt('check')).not.toContain(heading);
  const [, , work, check] = it.visits();
  expect(work?.['steered']).toMatchObject([
    { note: 1, text: 'Keep the old format.\nAnd the tests.', by: 'Ada', from: 'command' },
    { note: 2, by: 'Bob B' },
  ]);
  expect(check).not.toHaveProperty('steered');
  expect((await it.show('r1')).out).toContain('note 2 by Bob B (command), used by work@1: Use less ink.');
  expect(
    it.records('.factory/runs/r1/events.jsonl').filter(({ type }) => type === 'StageSteered'),
  ).toMatchObject([
    { node_id: 'work', visit: 1, note: 1, by: 'Ada' },
    { node_id: 'work', visit: 1, note: 2, by: 'Bob B' },
  ]);
  expect(await it.problems()).toEqual([]);
  expect(await it.steer('Too late.')).toMatchObject({ code: 1, problems: [{ code: 'steer-ended' }] });
  expect(readdirSync(join(it.runDir, 'steer-notes')).sort()).toEqual(['1.json', '2.json']);
});

test('a note stands before the request for a verdict, which ends the prompt of a goal gate', async () => {
  await using it = await suspended();
  await it.finish();
  const plain = it.prompt('check');
  await using other = await suspended({
    'p.dot': dot.replace('work [prompt="Do it."];', 'work [shape=parallelogram, tool_command="true"];'),
  });
  await other.steer('Look twice.');
  expect((await other.finish()).code).toBe(0);
  expect(other.prompt('check')).toBe(
    plain.replace('Check it.\n', `Check it.\n\n${heading}\n- Ada: Look twice.\n`),
  );
});

test.for([
  ['is empty', '  \n', {}, 'steer-text'],
  ['is too long', 'x'.repeat(16 * 1024 + 1), {}, 'steer-text'],
  ['names no branch of the run', 'Go.', { branch: 'left' }, 'steer-branch'],
] as const)('a note that %s is refused, and nothing is written', async ([, text, more, code]) => {
  await using it = await suspended();
  expect(await it.steer(text, more)).toMatchObject({ problems: [{ code }] });
  expect(existsSync(join(it.runDir, 'steer-notes'))).toBe(false);
});

test('a run without agents takes no note', async () => {
  const tools = dot.replaceAll(/prompt="[^"]*"/g, 'shape=parallelogram, tool_command="true"');
  await using it = await suspended({ 'p.dot': tools });
  expect(await it.steer('Go.')).toMatchObject({ problems: [{ code: 'steer-agents' }] });
});

test('a process of the run cannot steer', async () => {
  await using it = await suspended();
  const read = await openRun(it.runDir).manifest();
  if (!read.ok) throw new Error(read.why);
  vi.stubEnv('FACTORY_RUN_MARKER', processMarker(it.runDir, read.manifest));
  expect(await it.steer('Let me out.')).toMatchObject({ problems: [{ code: 'steer-inside' }] });
  vi.unstubAllEnvs();
});

test('notes given at once have different numbers, and are all used once', async () => {
  await using it = await suspended();
  const given = await Promise.all([...'abcdefgh'].map((text) => it.steer(text)));
  const numbers = given.map((one) => ('note' in one ? one.note.note : 0)).sort();
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  await it.finish();
  const used = it.visits().flatMap(({ steered = [] }) => steered as { text: string }[]);
  expect(used.map(({ text }) => text).sort()).toEqual([...'abcdefgh']);
});

test('an execution that was killed leaves its note to the one that is resumed', async () => {
  await using it = await suspended();
  await it.steer('Mind the gap.');
  // As after kill -9 while the agent worked: the execution has begun and no line says how it ended.
  await it.called(['answer', 'r1', '--no-resume'], { choice: 'Go' });
  it.environment({ ATTRACTION_TEST_STOP_AFTER_NODE: 'ask' });
  await it.resume('r1');
  it.environment({});
  const journal = join(it.runDir, 'journal.jsonl');
  const before = readFileSync(journal);
  expect((await it.resume('r1')).code).toBe(0);
  expect(it.prompt('work')).toContain('Mind the gap.');
  const lines = readFileSync(journal, 'utf8').split('\n');
  const began = lines.findIndex((line) => line.includes('"Began"') && line.includes('"node":"work"'));
  writeFileSync(journal, `${lines.slice(0, began + 1).join('\n')}\n`);
  expect(readFileSync(journal).length).toBeGreaterThan(before.length);
  const again = await it.resume('r1', { takeOver: true });
  expect(again.code, again.err).toBe(0);
  const used = it.visits().flatMap(({ node, steered = [] }) => (steered as object[]).map(() => node));
  expect(used).toEqual(['work']);
  expect(await it.problems()).toEqual([]);
});

test('a secret of the run is masked in the prompt and in the record', async () => {
  await using it = await suspended();
  it.environment({ MY_TOKEN: 'very-secret-value-1' });
  await it.steer('Use very-secret-value-1 to log in.');
  await it.finish();
  expect(it.prompt('work')).toContain('- Ada: Use *** to log in.');
  expect(it.read('.factory/runs/r1/journal.jsonl')).not.toContain('very-secret-value-1');
  expect(await it.problems()).toEqual([]);
});

test('a replay has the notes of the record, and a fork those of the executions that it begins with', async () => {
  await using it = await suspended();
  await it.steer('Use less ink.');
  await it.finish();
  const replayed = await it.replay('r1', { runId: 'r2' });
  expect(replayed.code, replayed.err).toBe(0);
  expect(it.prompt('work', 'r2')).toBe(it.prompt('work'));
  expect(it.visits('r2').flatMap(({ steered = [] }) => steered)).toEqual(
    it.visits().flatMap(({ steered = [] }) => steered),
  );
  expect(await it.problems('r2')).toEqual([]);
  const forked = await it.fork('r1', { runId: 'r3', at: 'work@1' });
  expect(forked.code, forked.err).toBe(0);
  expect(it.visits('r3').flatMap(({ steered = [] }) => steered)).toHaveLength(1);
  expect(it.prompt('check', 'r3')).not.toContain('less ink');
  expect(await it.problems('r3')).toEqual([]);
});

test('a changed or removed note is found by verify', async () => {
  await using it = await suspended();
  await it.steer('Use less ink.');
  await it.finish();
  const file = join(it.runDir, 'steer-notes/1.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace('less', 'more'));
  expect(await it.problems()).toMatchObject([{ code: 'changed' }]);
});
