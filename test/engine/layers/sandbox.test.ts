/** What a failure says of the sandbox and of the machine. */
import { expect, test } from 'vitest';
import { failed } from '../../../src/core/outcome.ts';
import { sandbox } from '../../../src/engine/layers/sandbox.ts';
import { OutOfMemory } from '../../../src/platform/process/spawn-error.ts';
import { temp } from '../../platform/temp.ts';
import { rig } from './rig.ts';

const tool = 'shape=parallelogram, tool_command="x"';
const secret = 'tok-4711-verysecret';

const bySystem = (signal: string) => ({
  class: 'product' as const,
  how: 'evidence' as const,
  why: `ended by ${signal}`,
});
const said = 'the system has killed a process meanwhile since no memory was left';

test.for([
  [0, { exitCode: 137 }, 'no', undefined],
  [1, { exitCode: 1 }, 'no', undefined],
  [1, { exitCode: 137 }, `no (${said})`, undefined],
  [1, { attribution: bySystem('SIGKILL') }, 'tool_exit_code_-1', `ended by SIGKILL; ${said}`],
  [1, { attribution: bySystem('SIGSEGV') }, 'tool_exit_code_-1', 'ended by SIGSEGV'],
] as const)(
  '%s processes killed for lack of memory, a failure with %j: %s',
  async ([kills, how, reason, why]) => {
    await using it = await temp();
    let count = 7;
    const node = await rig(it.dir, tool, { run: { outOfMemory: new OutOfMemory(() => count) } });
    count += kills;
    const { outcome } = await node.through(sandbox, failed(reason.replace(/ .*/, ''), 'product', how));
    await node.close();
    expect(outcome).toMatchObject({ reason });
    expect(outcome.status === 'fail' ? outcome.attribution?.why : '').toBe(why);
  },
);

test('a failure names the variable that the program did not get, and its programs are listed', async () => {
  await using it = await temp();
  const node = await rig(it.dir, tool, { run: { env: { SERVICE_TOKEN: secret } } });
  const executed = await node.through(sandbox, async ({ processes, before }) => {
    const names = { stdoutName: 'tool.stdout.txt', stderrName: 'tool.stderr.txt' };
    await processes.run({ argv: ['sh', '-c', 'curl $SERVICE_TOKEN'], ...names });
    return { outcome: failed('no', 'product'), snapshot: before };
  });
  await node.close();
  expect(executed.outcome).toMatchObject({
    reason: expect.stringMatching(/^no \(SERVICE_TOKEN is a secret and withheld/),
  });
  expect(executed.commands).toMatchObject([{ argv: ['sh', '-c', 'curl $SERVICE_TOKEN'], exit_code: 0 }]);
});
