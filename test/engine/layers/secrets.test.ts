/** Secrets of the environment in what a node reports and leaves behind. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { failed, type Outcome, succeeded } from '../../../src/core/outcome.ts';
import { secrets } from '../../../src/engine/layers/secrets.ts';
import { temp } from '../../platform/temp.ts';
import { rig } from './rig.ts';

const tool = 'shape=parallelogram, tool_command="x"';
const secret = 'tok-4711-verysecret';

const masked = async (dir: string, outcome: Outcome) => {
  const node = await rig(dir, tool, {
    run: { env: { SERVICE_TOKEN: secret, PASSED_TOKEN: 'passed-4711' }, envPass: ['PASSED_TOKEN'] },
  });
  const artifact = join(node.context.nodeDir, 'left.txt');
  const executed = await node.through(secrets, async (context) => {
    context.secrets.forTool('x');
    writeFileSync(artifact, 'it got passed-4711');
    return { outcome, snapshot: context.before };
  });
  await node.close();
  return { outcome: executed.outcome, artifact: readFileSync(artifact, 'utf8') };
};
const told = `said ${secret}`;
const words = {
  label: told,
  suggested: [told],
  notes: told,
  denied: [told],
  updates: { [told]: [{ deep: told }] },
};

test.for<Outcome>([
  failed(told, 'infra', {
    ...words,
    command: told,
    attribution: { class: 'infra', how: 'words', why: told },
    exitCode: 1,
  }),
  { ...succeeded(words), status: 'retry', reason: told },
  succeeded(words),
])('no word of an outcome keeps one', async (outcome) => {
  await using it = await temp();
  const ended = await masked(it.dir, outcome);
  expect(JSON.stringify(ended.outcome)).not.toContain(secret);
  expect(JSON.stringify(ended.outcome)).toBe(JSON.stringify(outcome).replaceAll(secret, '***'));
  expect(ended.artifact).toBe('it got ***');
});
test('a plan of commands with stars is no plan', async () => {
  await using it = await temp();
  const plan = { 'verification.plan': { commands: [`curl -u ${secret}`] } };
  const { outcome } = await masked(it.dir, succeeded({ updates: plan, denied: ['rm'] }));
  expect(outcome).toMatchObject({ class: 'config', broke: true, denied: ['rm'], updates: {} });
});
