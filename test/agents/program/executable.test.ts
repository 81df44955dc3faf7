import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { expect, test } from 'vitest';
import { commandAgent } from '../../../src/agents/command.ts';
import { handClock } from '../../support/clock.ts';
import { programTask } from '../program-task.ts';

test('a program in a relative folder of PATH is started, wherever its work lies', async () => {
  await using it = await programTask({ 'deep/er/still/x': '' });
  mkdirSync(it.at('bin'));
  writeFileSync(it.at('bin/my-agent'), '#!/bin/sh\necho "started in $PWD"\n');
  chmodSync(it.at('bin/my-agent'), 0o755);
  const env = { ...it.env, PATH: `${relative(process.cwd(), it.at('bin'))}:${it.env['PATH']}` };
  const agent = commandAgent({ env, clock: handClock(0) });
  const task = it.task({ attributes: { 'command.run': 'my-agent', 'command.workdir': 'deep/er/still' } });
  expect(await agent.work(task, new AbortController().signal)).toMatchObject({
    kind: 'answered',
    text: `started in ${it.workspace}/deep/er/still\n`,
  });
});
