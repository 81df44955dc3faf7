/** Runs whose scenarios passed and are too weak a judge: what they say, what can be done, and what a person may accept. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Strength } from '../../src/core/records/strength.ts';
import { strengthWords } from '../../src/core/strength.ts';
import { house } from '../support/house.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const strength: Strength = {
  ...{ state: 'missed', killed: 30, survived: 30, timed_out: 1, not_reached: 0, not_built: 2, no_verdict: 0 },
  ...{
    total: 303,
    complete: false,
    rate: 0.5,
    low: 0.368,
    high: 0.632,
    required: 0.8,
    left_out: [],
    ...{ files_left_out: 0, scenarios_left_out: 0 },
    why: null,
  },
};
const words = strengthWords(strength);
const judged = (more: object = {}, updates: object = {}) =>
  JSON.stringify({
    ...{ outcome: 'fail', failure_class: 'scenario', preferred_next_label: 'too_weak' },
    failure_reason: `judge_too_weak: ${words} (2 of 2 scenarios pass)`,
    context_updates: {
      ...{ 'judge.passed': 2, 'judge.total': 2, 'judge.floor': 'held', 'judge.strength': strength },
      ...updates,
    },
    ...more,
  });

/** What only a node that runs scenarios may report: in their place bash, which reads a file first (`BASH_ENV`), answers with another. */
const scenarios = 'factory scenario run scenarios';
const answering = 'factory() { cat judge.json > "$FACTORY_OUTPUT"; exit 1; }\n';

/** `build.commits` and the head as the build's tools set them. */
const pipeline = (
  middle = '',
  way = 'next -> judge [condition="outcome=fail && failure_class!=product"]',
) => `digraph weak {
  workdir="w"
  start [shape=Mdiamond]
  next [shape=parallelogram, access="run", tool_command="factory order next"]
  judge [shape=parallelogram, shell="bash", tool_command="${scenarios}"]
  weak [shape=Msquare, outcome=fail, label="The scenarios notice too little"]
  exit [shape=Msquare]
  start -> next
  ${way}
  judge -> weak [condition="outcome=fail && failure_class=scenario"]
  ${middle === '' ? 'judge -> exit [condition="outcome=success"]' : middle}
}`;

async function ran(json: string, dot = pipeline(), late = '{}') {
  const files = { 'p.dot': dot, 'w/judge.json': json, 'w/judge.sh': answering, 'w/late.json': late };
  const it = await house(files, () => ({ FACTORY_SANDBOX: 'none', BASH_ENV: './judge.sh' }));
  const told = await it.run('p.dot', { runId: 'r', quiet: true });
  expect(told.code, told.err).toBe(1);
  return { ...it, told };
}
const deliver = (it: Awaited<ReturnType<typeof house>>, ...flags: string[]) =>
  it.called(['deliver', 'r', '--to', 'out', ...flags]);

test('the end, the list, why and show say the number and the bar, and offer a stronger suite first', async () => {
  await using it = await ran(judged());
  const stronger = 'factory fork r --before judge --holdout DIR';
  for (const [verb, text] of [
    ['run', it.told.out + it.told.err],
    ['why', (await it.called(['why', 'r'])).out],
    ['show', (await it.called(['show', 'r'])).out],
  ]) {
    expect(text, verb).toContain(words);
    expect(text, verb).toContain(stronger);
    expect(text, verb).toContain('factory deliver r --to ./r --accept-weak');
  }
});

test('its row, card and verify have the number, the ways on, and no delivery yet', async () => {
  await using it = await ran(judged());
  const [row] = JSON.parse((await it.called(['runs', '--json'])).out).runs;
  const stronger = 'factory fork r --before judge --holdout DIR';
  expect(row).toMatchObject({
    headline: `judge: the scenarios are too weak: ${words}`,
    next: `${stronger} # after writing more scenarios into DIR`,
    action: { kind: 'edit', command: stronger },
    delivered: null,
  });
  expect(row.acts).toContain('deliver');
  const { card } = JSON.parse((await it.called(['why', 'r', '--json'])).out);
  expect(card.actions.map((one: { command: string }) => one.command)).toEqual([
    stronger,
    'factory deliver r --to ./r --accept-weak',
    'factory scenario survivors r',
  ]);
  const verified = await it.called(['verify', 'r']);
  expect(verified.out).toContain(`judged        scenarios 2 of 2 (floor held), ${words}`);
});

test('a weakness that a person accepts is delivered, and every view says who accepted it', async () => {
  await using it = await ran(judged());
  const refused = await deliver(it);
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringContaining(`its scenarios are too weak: ${words}`),
  ]);
  expect(refused.err).toContain('factory deliver r --accept-weak');
  for (let times = 0; times < 2; times++) expect((await deliver(it, '--accept-weak')).code).toBe(0);
  expect(existsSync(join(it.path, 'out/.git'))).toBe(true);
  const acts = it.records('.factory/runs/r/acts.jsonl');
  expect(acts.filter(({ what }) => what === 'accept_weak')).toEqual([
    expect.objectContaining({
      node: 'judge@1',
      strength: words,
      head: expect.stringMatching(/^[0-9a-f]{40}$/),
    }),
  ]);
  const line = expect.stringMatching(
    /weak scenarios, by .+ at .+: judge@1, strength 50 % \(36–63\), 60 of 303/,
  );
  for (const verb of ['verify', 'show', 'audit']) {
    const told = await it.called([verb, 'r']);
    expect([verb, told.out]).toEqual([verb, line]);
    const json = JSON.parse((await it.called([verb, 'r'], { json: true })).out);
    expect(json.accepted_weakness).toMatchObject({ node: 'judge@1', strength: words });
  }
  const [row] = JSON.parse((await it.called(['runs', '--json'])).out).runs;
  expect(row).toMatchObject({ needs_attention: false, delivered: true });
  expect(row.headline).toContain('; accepted by ');
});

const other = {
  'a scenario that failed': judged({}, { 'judge.passed': 1 }),
  'scenarios that accept nothing': judged({}, { 'judge.floor': 'failed' }),
  'another class': judged({ failure_class: 'infra' }),
  'no required strength': judged(
    {},
    { 'judge.strength': { ...strength, required: null, state: 'measured' } },
  ),
};
test.for(Object.entries(other))('%s is not accepted as a weakness', async ([, json]) => {
  const dot = pipeline().replace('outcome=fail && failure_class=scenario', 'outcome=fail && failure_class');
  await using it = await ran(json, dot);
  const told = await deliver(it, '--accept-weak');
  expect([told.code, told.err]).toEqual([
    2,
    expect.stringContaining('did not fail because its scenarios are too weak'),
  ]);
  expect(readFileSync(join(it.path, '.factory/runs/r/result.json'), 'utf8')).not.toContain('--accept-weak');
});

test.for([
  [
    'a node that would have come next',
    'judge -> more [condition="outcome=success"]; more [shape=parallelogram, tool_command="true"]; more -> exit [condition="outcome=success"]',
    'more was not executed',
  ],
  [
    'an exit that fails all the same',
    'judge -> bad [condition="outcome=success"]; bad [shape=Msquare, outcome=fail]; judge -> exit [condition="outcome=partial_success"]',
    'would have failed all the same',
  ],
] as const)('%s keeps a weak run from being delivered', async ([, middle, why]) => {
  await using it = await ran(judged(), pipeline(middle));
  const told = await deliver(it, '--accept-weak');
  expect([told.code, told.err]).toEqual([2, expect.stringContaining(why)]);
  expect((await it.called(['why', 'r'])).out).not.toContain('--accept-weak');
});

test('another tool forges no weakness: what a node without scenarios reports of them does not count', async () => {
  const forge = 'cat judge.json > $FACTORY_OUTPUT; exit 1';
  await using it = await ran(judged(), pipeline().replace(scenarios, forge));
  const told = await deliver(it, '--accept-weak');
  expect([told.code, told.err]).toEqual([
    2,
    expect.stringContaining('did not fail because its scenarios are too weak'),
  ]);
  expect(it.json('.factory/runs/r/result.json').evidence).not.toHaveProperty('judged');
});

test('a tool that runs behind the judge replaces no result, neither of it nor of the build', async () => {
  const way = 'next -> judge [condition="outcome=fail && failure_class!=product"]';
  const late = `late [shape=parallelogram, tool_command="cat late.json > $FACTORY_OUTPUT"]
    judge -> late [condition="outcome=fail && failure_class=scenario"]; late -> weak`;
  const dot = pipeline('', `${way}\n${late}`).replace(
    'judge -> weak [condition="outcome=fail && failure_class=scenario"]',
    '',
  );
  const build = { 'build.proof': ['npm test'], 'build.commits': [] };
  const forged = { context_updates: { ...JSON.parse(judged()).context_updates, ...build } };
  await using it = await ran(judged({}, { 'judge.passed': 1 }), dot, JSON.stringify(forged));
  const { evidence, proof } = it.json('.factory/runs/r/result.json');
  expect(evidence.judged).toMatchObject({ passed: 1, total: 2 });
  expect(proof).toBeNull();
});

test('an acceptance is of the commit and the execution that it was given for, and of no other', async () => {
  await using it = await ran(judged());
  expect((await deliver(it, '--accept-weak')).code).toBe(0);
  const acts = join(it.path, '.factory/runs/r/acts.jsonl');
  const given = readFileSync(acts, 'utf8');
  const line = given.split('\n').find((one) => one.includes('accept_weak')) ?? '';
  const accepted = async () => [
    JSON.parse((await it.called(['verify', 'r'], { json: true })).out).accepted_weakness,
    JSON.parse((await it.called(['audit', 'r'], { json: true })).out).accepted_weakness,
    JSON.parse((await it.called(['show', 'r'], { json: true })).out).accepted_weakness ?? undefined,
  ];
  expect(await accepted()).toEqual(Array(3).fill(expect.objectContaining({ node: 'judge@1' })));
  const { head } = JSON.parse(line);
  for (const other of [line.replace(head, 'f'.repeat(40)), line.replace('judge@1', 'judge@2')]) {
    writeFileSync(acts, `${given}${other}\n`);
    expect(await accepted()).toEqual([undefined, undefined, undefined]);
  }
  writeFileSync(acts, `${given}${line.replace(head, 'f'.repeat(40))}\n`);
  const [row] = JSON.parse((await it.called(['runs', '--json'])).out).runs;
  expect(row.headline).not.toContain('; accepted by ');
  writeFileSync(acts, given);
  expect((await it.fork('r', { at: 'judge@1', runId: 'f' })).code).toBe(1);
  const told = await it.called(['verify', 'f'], { json: true });
  expect(JSON.parse(told.out)).not.toHaveProperty('accepted_weakness');
});
