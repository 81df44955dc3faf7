/** The report about a node that the system killed because memory ran out. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { run } from '../../src/engine/run.ts';
import { layout, nodeLayout } from '../../src/model/layout.ts';
import { failed } from '../../src/model/outcome.ts';
import { exit } from '../../src/nodes/exit.ts';
import { start } from '../../src/nodes/start.ts';
import { OutOfMemory } from '../../src/system/oom.ts';
import { graphOf } from '../support/graph.ts';
import { temp } from '../system/temp.ts';
import { prepared, work } from './prepared-run.ts';

const bySystem = (signal: string) => ({
  class: 'product' as const,
  how: 'evidence' as const,
  why: `ended by ${signal}`,
});

test.for([
  [0, { exitCode: 137 }, 'tool_exit_code_137', undefined],
  [1, { exitCode: 1 }, 'tool_exit_code_1', undefined],
  [
    1,
    { exitCode: 137 },
    'tool_exit_code_137 (the system has killed a process meanwhile since no memory was left)',
    undefined,
  ],
  [
    2,
    { attribution: bySystem('SIGKILL') },
    'tool_exit_code_-1',
    'ended by SIGKILL; the system has killed 2 processes meanwhile since no memory was left',
  ],
  [2, { attribution: bySystem('SIGSEGV') }, 'tool_exit_code_-1', 'ended by SIGSEGV'],
] as const)(
  '%s processes killed for want of memory, a stage that failed with %j: %s',
  async ([kills, how, reason, why]) => {
    await using it = await temp();
    let count = 7;
    const outOfMemory = new OutOfMemory(() => count);
    const [code] = /^tool_exit_code_-?\d+/.exec(reason) ?? [''];
    const fail = work(() => {
      count += kills;
      return failed(code, 'product', how);
    });
    const text =
      'start [shape=Mdiamond]; a [shape=parallelogram]; other [shape=Msquare]; start -> a; a -> other [condition="outcome=fail"]';
    const ready = await prepared(it.dir, graphOf(text), {
      kinds: [start, exit, fail],
      setting: { outOfMemory },
    });
    const end = await run(ready);
    await ready.close();
    expect(end.state.last_failure?.reason).toBe(reason);
    const status = JSON.parse(readFileSync(nodeLayout(layout(it.dir).node('a')).status, 'utf8'));
    expect([status.failure_reason, status.attribution?.why]).toEqual([reason, why]);
  },
);

test('where the system tells nothing of want of memory, nothing is said of it', () => {
  let count: number | undefined = 3;
  const outOfMemory = new OutOfMemory(() => count);
  count = undefined;
  expect(outOfMemory.since()).toBe(0);
  count = 5;
  expect([outOfMemory.since(), outOfMemory.since()]).toEqual([2, 0]);
  expect(new OutOfMemory().since()).toBeGreaterThanOrEqual(0);
});
