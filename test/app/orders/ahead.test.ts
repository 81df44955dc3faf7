/** Orders that are asked ahead of their turn, in whole builds. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { emptySha256 } from '../../../src/core/orders/proposal.ts';
import { buildOf, orderIn, proposalFor, threeLevels } from '../../support/orders-ahead.ts';

const run = '.factory/runs/r1';

test('orders that wait for no other are asked together, and built in the order of the plan', async () => {
  await using it = await buildOf(threeLevels);
  const ended = await it.build();
  expect(ended.code, ended.err).toBe(0);
  expect([...it.asked()].sort()).toEqual(threeLevels.map((_, at) => `WO-0${at + 1}`));
  const { context } = it.json(`${run}/checkpoint.json`);
  expect(context['build.ahead']).toEqual({ orders: 8, asked: 7, used: 7, wasted: 0 });
  expect(context['build.commits'].map((one: { work_order: string }) => one.work_order)).toEqual(
    threeLevels.map((_, at) => `WO-0${at + 1}`),
  );
  const asking = it.visits().filter((node) => /^(?:ask|propose|commit)/.test(node));
  expect(asking.join(' ').replaceAll(' commit', '.')).toBe(
    'ask_ahead ask.1 ask.2 ask.3 ask.4 asked.... ask_ahead ask.1 ask.2 ask.3 asked... propose.',
  );
});

test('a run with rounds is verified, replayed and forked without asking for an answer again', async () => {
  await using it = await buildOf(threeLevels.slice(0, 4));
  expect((await it.build()).code).toBe(0);
  const verified = await it.verb(['verify', 'r1']);
  expect(verified.code, verified.out + verified.err).toBe(0);
  for (const runTools of [false, true]) {
    const replayed = await it.replay('r1', { runId: `r2${runTools}`, runTools });
    expect(replayed.code, replayed.err).toBe(0);
  }
  const forked = await it.fork('r1', { at: 'commit@2', runId: 'r3' });
  expect(forked.code, forked.err).toBe(0);
  expect(it.visits('r3').filter((node) => /^(?:ask|propose)/.test(node))).toHaveLength(6);
  // Two of its commits name the run that it was forked from.
  const held = await it.verb(['verify', 'r3']);
  expect(held.code, held.out + held.err).toBe(0);
  expect(it.asked()).toHaveLength(4);
});

/** Changes an answer where the run has recorded it, without a change of any size. */
const tampering = `node -e '
const fs = require("fs");
const journal = fs.openSync("../journal.jsonl", "r+");
const text = fs.readFileSync("../journal.jsonl");
fs.writeSync(journal, "Wrote C.txt", text.indexOf("Wrote c.txt"));
fs.writeFileSync(".factory/order/proposal.json", "{}");
'
`;

test('an order without an answer is asked at its turn, and so is one whose recorded answer has been changed', async () => {
  const arrived: string[] = [];
  let others = () => {};
  const othersArrived = new Promise<void>((resolve) => {
    others = resolve;
  });
  await using it = await buildOf(
    [{ file: 't.sh', accept: ['bash t.sh'] }, { file: 'b.txt' }, { file: 'c.txt' }],
    async (request) => {
      const order = orderIn(request);
      arrived.push(order);
      const isFirst = arrived.filter((one) => one === order).length === 1;
      if (arrived.length === 3) others();
      // The answers come in another order than the questions.
      if (order === 'WO-01') await othersArrived;
      if (order === 'WO-01') return proposalFor(request, tampering);
      return order === 'WO-02' && isFirst ? { text: '' } : undefined;
    },
  );
  const ended = await it.build();
  expect(ended.code, ended.err).toBe(0);
  expect([...arrived].sort()).toEqual(['WO-01', 'WO-02', 'WO-02', 'WO-03', 'WO-03']);
  expect(it.json(`${run}/checkpoint.json`).context['build.ahead']).toEqual({
    ...{ orders: 3, asked: 2, used: 1, wasted: 1 },
  });
  expect(it.json(`${run}/prompt/status.json`).notes).toContain(
    'its answer asked ahead does not count: the record of the run no longer has the answer that was given',
  );
});

test('a limit in the middle of a round keeps the answers that are paid, and a resume asks for the others', async () => {
  await using it = await buildOf(threeLevels.slice(0, 4));
  const limited = await it.build({ maxTokens: 1600 });
  expect(limited.code).toBe(1);
  expect(limited.err + limited.out).toContain('max_tokens');
  const before = it.asked().length;
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(4);
  expect(it.visits().filter((node) => node.startsWith('ask.'))).toHaveLength(before);
  const resumed = await it.resume('r1', { maxTokens: 1_000_000 });
  expect(resumed.code, resumed.err).toBe(0);
  expect([...it.asked()].sort()).toEqual(['WO-01', 'WO-02', 'WO-03', 'WO-04']);
});

test('prepared answers and ahead=1 go one after another, of which a run says once why', async () => {
  await using it = await buildOf(threeLevels.slice(0, 2));
  expect((await it.build({ var: ['ahead=1'] })).code).toBe(0);
  expect(it.visits().filter((node) => /^(?:ask|propose)/.test(node))).toEqual(['propose', 'propose']);
  const notes = (id: string, visit: number) => {
    const folder = visit === 2 ? 'next/visits/2' : 'next/visits/1';
    return it.json(`.factory/runs/${id}/${folder}/status.json`).notes;
  };
  expect(notes('r1', 1)).toBe('WO-01 (1 of 2): Write a.txt');
  const answers = [1, 2].map((at) => ({
    json: {
      summary: 's',
      writes: [{ path: `${'ab'[at - 1]}.txt`, base_sha256: emptySha256, content: `${at}\n` }],
    },
  }));
  await writeFile(
    join(it.path, 'agent.json'),
    JSON.stringify({ format: 'factory-script/1', answers: { propose: answers } }),
  );
  const prepared = await it.build({ runId: 'r2', agent: 'scripted', script: 'agent.json' });
  expect(prepared.code, prepared.err).toBe(0);
  expect(it.visits('r2').filter((node) => /^(?:ask|propose)/.test(node))).toEqual(['propose', 'propose']);
  expect(notes('r2', 1)).toContain('2 orders are independent, but asked one after another');
  expect(notes('r2', 2)).toBe('WO-02 (2 of 2): Write b.txt');
});

test('a refused key and a provider without quota end no round: the run is suspended at the turn of the order', async () => {
  let isUp = false;
  await using it = await buildOf(threeLevels.slice(0, 2), (request) =>
    isUp ? undefined : { status: orderIn(request) === 'WO-01' ? 401 : 429, body: { error: refusal } },
  );
  const suspended = await it.build();
  expect(suspended.code, suspended.err).toBe(75);
  expect(it.visits().filter((node) => /^(?:ask|prompt)/.test(node))).toEqual([
    ...['ask_ahead', 'ask.1', 'ask.2', 'asked', 'prompt'],
  ]);
  expect(it.json(`${run}/checkpoint.json`).parked).toMatchObject({ node: 'propose' });
  isUp = true;
  const resumed = await it.resume('r1');
  expect(resumed.code, resumed.err).toBe(0);
  expect(it.json(`${run}/checkpoint.json`).context['build.ahead']).toBeUndefined();
});

const refusal = { message: 'no', code: 'insufficient_quota', type: 'insufficient_quota' };
