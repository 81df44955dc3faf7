/** What people give to a build that asks ahead: notes, secrets in their files, recordings. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildOf, orderIn, threeLevels } from '../../support/orders-ahead.ts';

const checkpoint = '.factory/runs/r1/checkpoint.json';

test('a note given while answers are asked ahead goes to the next order, which is asked again with it', async () => {
  const note = 'Write numbers in words.';
  let steer = async () => {};
  await using it = await buildOf(threeLevels.slice(0, 4), async (_request, index) => {
    if (index === 3) await steer();
    return undefined;
  });
  steer = async () => {
    expect((await it.verb(['steer', 'r1', note])).code).toBe(0);
  };
  const ended = await it.build();
  expect(ended.code, ended.err).toBe(0);
  const told = it.server.requests.filter(({ body }) => String(body?.['input']).includes(note)).map(orderIn);
  expect(told).toEqual(['WO-01']);
  expect(it.json(checkpoint).context['build.ahead']).toEqual({ orders: 4, asked: 4, used: 3, wasted: 1 });
  const replayed = await it.replay('r1', { runId: 'r2', runTools: true });
  expect(replayed.code, replayed.err).toBe(0);
});

test('answers count that were asked ahead with a secret in the prompt', async () => {
  await using it = await buildOf(threeLevels.slice(0, 2).map((row) => ({ ...row, reads: ['conf.ini'] })));
  await mkdir(join(it.path, 'project'));
  await writeFile(join(it.path, 'project/conf.ini'), 'user=tramway-depot\n');
  it.environment({
    ...{ OPENAI_API_KEY: 'sk-orders-ahead-0123', OPENAI_BASE_URL: it.server.url, FACTORY_SANDBOX: 'none' },
    DATABASE_PASSWORD: 'tramway-depot',
  });
  const ended = await it.build({ workdir: 'project' });
  expect(ended.code, ended.err).toBe(0);
  expect([...it.asked()].sort()).toEqual(['WO-01', 'WO-02']);
  expect(it.json(checkpoint).context['build.ahead']).toEqual({ orders: 2, asked: 2, used: 2, wasted: 0 });
  const verified = await it.verb(['verify', 'r1']);
  expect(verified.code, verified.out).toBe(0);
});

test('a recording of a build with rounds builds the same commits', async () => {
  await using it = await buildOf(threeLevels);
  expect((await it.build()).code).toBe(0);
  expect((await it.exported('r1', 'recorded.json')).code).toBe(0);
  const again = await it.build({ runId: 'r2', script: 'recorded.json' });
  expect(again.code, again.err).toBe(0);
  expect([...it.visits('r2')].sort()).toEqual([...it.visits('r1')].sort());
  expect(it.asked()).toHaveLength(8);
});

test('a fork with another model asks it for what the first model was asked ahead', async () => {
  await using it = await buildOf(threeLevels.slice(0, 3));
  expect((await it.build()).code).toBe(0);
  const forked = await it.fork('r1', { at: 'commit@1', runId: 'r2', model: 'gpt-4.1' });
  expect(forked.code, forked.err).toBe(0);
  const asked = it.server.requests.slice(3).map((one) => `${one.body?.['model']} ${orderIn(one)}`);
  expect(asked).toEqual(['gpt-4.1 WO-02', 'gpt-4.1 WO-03']);
  const same = await it.fork('r1', { at: 'commit@1', runId: 'r3' });
  expect(same.code, same.err).toBe(0);
  expect(it.asked()).toHaveLength(5);
});
