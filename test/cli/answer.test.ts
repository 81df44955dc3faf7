/** `factory answer`, and a question on the terminal of `factory run`. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { answerRun } from '../../src/app/answer-run.ts';
import type { CommandHost } from '../../src/cli/command-line.ts';
import { realClock } from '../../src/platform/clock.ts';
import { cleanEnv } from '../support/cli.ts';
import { house } from '../support/house.ts';
import { call, type Flags } from '../support/verb.ts';

const graph = (gate: string) => `digraph g {
  graph [label="Release", workdir="none"]
  start [shape=Mdiamond] exit [shape=Msquare]
  build [shape=parallelogram, tool_command="echo built"]
  gate [shape=hexagon, prompt="Ship it?"]
  start -> build
  build -> gate [condition="outcome=success"]
  ${gate}
}`;
const gates = graph(`gate -> exit [label="[A] Approve"]
  gate -> gate [label="[O] Once more"]`);

/** Commands in a folder with a run that asks; the runs go on in this process, so that nothing waits for a new one. */
async function asking(flags: Flags = {}, text = gates) {
  const place = await house({ 'p.dot': text });
  const factory = (words: readonly string[], more: Flags = {}, doors: Partial<CommandHost> = {}) =>
    call(words, more, { cwd: place.path, env: cleanEnv({ HOME: place.path }), ...doors });
  const begun = await factory(['run', 'p.dot'], { runId: 'r', ...flags });
  const answer = (words: readonly string[], more: Flags = {}) =>
    factory(['answer', 'r', ...words], { noResume: true, ...more });
  const dir = `${place.path}/.factory/runs/r`;
  const answers = () =>
    place
      .records('.factory/runs/r/journal.jsonl')
      .flatMap((line) => (line['answer'] === undefined ? [] : [line]));
  return { ...place, factory, begun, answer, dir, answers };
}

test('without a terminal a run ends with the question and the commands that answer it', async () => {
  await using it = await asking();
  expect(it.begun.code).toBe(75);
  expect(it.begun.out.trimEnd().split('\n').slice(-7)).toEqual([
    '  after build: success',
    '  │ built',
    '? Ship it? (gate@1)',
    '  [A] Approve',
    '  [O] Once more',
    '  factory answer r gate@1 --choice A # Approve',
    '  factory answer r gate@1 --choice O # Once more',
  ]);
  const shown = await it.answer([]);
  expect(shown).toMatchObject({
    code: 0,
    out: expect.stringContaining('? Ship it? (gate@1)\n  [A] Approve'),
  });
  const asJson = JSON.parse((await it.answer([], { json: true })).out);
  expect(asJson).toMatchObject({
    run_id: 'r',
    question: { id: 'gate@1', options: [{ key: 'A' }, { key: 'O' }] },
  });
  for (const verb of ['runs', 'why', 'show'])
    expect((await it.factory([verb, ...(verb === 'runs' ? [] : ['r'])])).out, verb).toContain('Ship it?');
});

test('an answer is checked, said, kept and taken by the resume', async () => {
  await using it = await asking();
  for (const [words, flags, code, text] of [
    [[], { choice: 'z' }, 2, 'error[answer-option]: gate@1 has no option "z"'],
    [[], { text: 'yes' }, 2, 'error[answer-text]: gate@1 takes no text'],
    [['gate@2'], { choice: 'A' }, 2, 'its open question is gate@1'],
    [['gate@2'], {}, 2, 'its open question is gate@1'],
  ] as const)
    expect(await it.answer(words, flags), text).toMatchObject({ code, err: expect.stringContaining(text) });
  const first = await it.answer(['gate@1'], { choice: 'once more', by: 'ada' });
  expect(first).toMatchObject({ code: 0 });
  expect(first.out).toContain('gate@1 answered by ada (command): Once more\nthe answer is kept');
  expect(await it.answer([], { choice: 'A', by: 'bob' })).toMatchObject({
    code: 1,
    err: expect.stringMatching(/answered already by ada at .*: Once more/),
  });
  expect((await it.factory(['why', 'r'])).out).toMatch(
    /answered by ada \(command\)[\s\S]*next +factory resume r/,
  );
  expect((await it.resume('r')).code).toBe(75);
  expect((await it.factory(['show', 'r', 'gate@1'])).out).toMatch(
    /asked +Ship it\?\n +\[A\] Approve\n +\[O\] Once more\n +answer +Once more, by ada \(command\) at /,
  );
  expect(await it.answer(['gate@1'], { choice: 'A' })).toMatchObject({ code: 1 });
  expect((await it.answer([], { choice: 'A' })).code).toBe(0);
  expect((await it.resume('r')).code).toBe(0);
  expect(await it.answer([])).toMatchObject({
    code: 2,
    err: expect.stringContaining('run r asks no question'),
  });
  expect(it.answers()).toMatchObject([{ visit: 1, answer: { by: 'ada' } }, { visit: 2 }]);
});

/** A terminal on which `keys` are typed, one after each prompt. */
function terminal(...keys: readonly string[]) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  const left = [...keys];
  let shown = '';
  output.on('data', (piece: Buffer) => {
    shown += piece;
    if (!/then Enter[^\n]*\n/.test(shown) || left.length === 0) return;
    shown = '';
    const key = left.shift() ?? '';
    setImmediate(() => input.write(key));
  });
  const interrupt = () => stop.abort('SIGINT');
  return { terminal: { input, output, interrupt }, signal: () => stop.signal };
}

test.for([
  ['a key', ['o\r', 'a\r'], 0],
  ['Ctrl-D', ['\x04'], 75],
  ['Ctrl-C', ['\x03'], 130],
] as const)('a run asks on its terminal: %s', async ([, keys, code]) => {
  await using it = await house({ 'p.dot': gates });
  const doors = { cwd: it.path, env: cleanEnv({ HOME: it.path }) };
  const ran = await call(['run', 'p.dot'], { runId: 'r' }, { ...doors, ...terminal(...keys) });
  expect(ran.code).toBe(code);
  const lines = it.records('.factory/runs/r/journal.jsonl');
  const answers = lines.flatMap(({ answer }) => (answer === undefined ? [] : [answer]));
  expect(answers).toMatchObject(
    code === 0 ? [{ label: 'Once more', from: 'terminal' }, { label: 'Approve' }] : [],
  );
  if (code !== 0)
    expect(ran.out.trimEnd().split('\n').at(-1)).toBe('  factory answer r gate@1 --choice O # Once more');
});

test('nothing is asked where the output is for programs', async () => {
  await using it = await house({ 'p.dot': gates });
  const doors = { cwd: it.path, env: cleanEnv({ HOME: it.path }) };
  const ran = await call(['run', 'p.dot'], { json: true }, { ...doors, ...terminal('a\r') });
  expect(JSON.parse(ran.out)).toMatchObject({ status: 'paused_answer', question: { id: 'gate@1' } });
});

test('the prompt of `factory answer` closes when another answer is first', async () => {
  await using it = await asking();
  const { signal, terminal: at } = terminal();
  const asked = it.factory(['answer', 'r'], {}, { signal, terminal: at });
  await new Promise((opened) => at.output.once('data', opened));
  await answerRun(it.dir, { choice: 'A', by: 'ada', from: 'page' }, { clock: realClock, env: {} });
  expect(await asked).toMatchObject({ code: 1, err: expect.stringContaining('answered by ada (page)') });
});

test('of several answers at once one wins, the others are told who was first, and each counts once', async () => {
  await using it = await asking();
  const names = ['ada', 'bob', 'eve'];
  for (let round = 1; round <= 20; round++) {
    const told = await Promise.all(
      names.map((by) =>
        answerRun(
          it.dir,
          { question: `gate@${round}`, choice: 'O', by, from: 'api' },
          { clock: realClock, env: {} },
        ),
      ),
    );
    const winner = names[told.findIndex((one) => 'answer' in one)];
    const others = told.flatMap((one) => ('problems' in one ? one.problems : []));
    const first = expect.stringContaining(`answered already by ${winner} at `);
    expect(others).toMatchObject([1, 2].map(() => ({ code: 'answer-taken', message: first })));
    expect((await it.resume('r')).code).toBe(75);
    expect(it.answers().at(-1)).toMatchObject({ visit: round, answer: { by: winner } });
  }
  expect(it.answers()).toHaveLength(20);
});

test('a success in spite of a failure is shown with the failure and who let it pass', async () => {
  await using it = await asking(
    {},
    `digraph g { graph [workdir="none"]
      start [shape=Mdiamond] exit [shape=Msquare]
      check [shape=parallelogram, tool_command="echo broken >&2; exit 3"]
      gate [shape=hexagon, label="Ship it all the same?"]
      start -> check
      check -> exit [condition="outcome=success"]
      check -> gate [condition="outcome=fail"]
      gate -> exit [label="Yes"] }`,
  );
  await it.answer([], { choice: 'y', by: 'ada' });
  const { code, out } = await it.resume('r');
  expect(code).toBe(5);
  expect(out).toMatch(
    /^! overridden in \S+: a success in spite of a failure\n {2}failure +check@1 \(product\): /,
  );
  expect(out).toMatch(/\n {2}answer +gate@1: Yes, by ada \(command\) at /);
  expect((await it.factory(['why', 'r'])).out).toMatch(
    /^! overridden: [^\n]*\n {2}check@1 failed \(product\): [^\n]*\n {2}gate@1 was answered by ada \(command\) at [^\n]*: Yes\n/,
  );
  expect((await it.runs()).out).toMatch(/! overridden/);
  const [row] = JSON.parse((await it.runs({ json: true })).out).runs;
  expect(row).toMatchObject({
    status: 'overridden',
    needs_attention: true,
    acts: ['fork', 'replay', 'dismiss', 'remove'],
  });
});
