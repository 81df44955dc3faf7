/** A success in spite of a failure that led to a gate. */
import { expect, test } from 'vitest';
import { deliverRun } from '../../../src/app/deliver.ts';
import type { DeliveryFlags } from '../../../src/app/typed-command.ts';
import { realSpawn } from '../../../src/platform/process/spawn.ts';
import { gateGraph, gateRun } from './gate-run.ts';

const check = `check [shape=parallelogram, tool_command="test -e fixed"]; ask [shape=hexagon, label="Go on?"]
  start -> check; check -> done [condition="outcome=success"]`;
const tool = (id: string, command: string): string =>
  `${id} [shape=parallelogram, tool_command="${command}"]`;

/** After a failure of `check` a person is asked. */
const flow = (after: string, before = 'check -> ask [condition="outcome=fail"]'): string =>
  gateGraph(`${check}; ${before}; ${after}`);

test('an answer that lets a failure pass makes a success overridden: exit code 5, with who answered what and when', async () => {
  await using it = await gateRun(
    flow(`${tool('other', 'true')}; ask -> other [label="[Y] Ship anyway"]; other -> done`),
  );
  await it.start();
  await it.answer({ choice: 'Y' });
  const { code, result } = await it.resume();
  expect(code).toBe(5);
  expect(result).toMatchObject({
    status: 'overridden',
    exit_node: 'done',
    failed_node: null,
    reason: expect.stringMatching(/^overridden: check@1 failed .*Ada answered "Ship anyway" at ask@1$/),
    overridden: [
      {
        node: 'check',
        visit: 1,
        class: 'product',
        answered: { question: 'ask@1', by: 'Ada', from: 'command' },
      },
    ],
  });
  expect(it.history().checkpoint).toMatchObject({ status: 'overridden', ended: { ok: false, code: 5 } });
  expect(await it.problems()).toEqual([]);
  expect(await it.resume()).toMatchObject({ code: 5, result: { status: 'overridden' } });

  const delivered = async (flags: DeliveryFlags) => {
    const host = { ...it.host, env: {}, spawn: realSpawn, signal: () => it.host.signal };
    const done = await deliverRun(it.runDir, flags, host);
    return 'problems' in done ? done.problems[0] : undefined;
  };
  expect(await delivered({})).toMatchObject({
    message: expect.stringContaining('is overridden: check@1 failed'),
    fix: expect.stringMatching(/ --overridden$/),
  });
  expect((await delivered({ overridden: true }))?.message).toContain('makes no commits');
});

test('automatic answers count alike', async () => {
  await using it = await gateRun(flow('ask -> done [label="[Y] Ship anyway"]'));
  const { code, result } = await it.start({ auto_answer: 'first' });
  expect(code).toBe(5);
  expect(result).toMatchObject({
    answers: { people: 0, automatic: 1, timeouts: 0 },
    overridden: [{ answered: { from: 'auto' } }],
  });
});

test.for([
  [
    'a success of the failed node',
    flow(`${tool('fix', 'touch fixed')}; ask -> fix; fix -> check`),
    'start check ask fix check done',
  ],
  [
    'a success of another node before the gate',
    flow(`${tool('other', 'true')}; other -> ask; ask -> done`, 'check -> other [condition="outcome=fail"]'),
    'start check other ask done',
  ],
] as const)('%s leaves a plain success', async ([, dot, path]) => {
  await using it = await gateRun(dot);
  await it.start({ auto_answer: 'first' });
  expect(it.path()).toBe(path);
  expect(it.history().checkpoint).toMatchObject({ status: 'completed', ended: { code: 0 } });
});
