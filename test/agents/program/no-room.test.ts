import { expect, test } from 'vitest';
import { claudeAgent } from '../../../src/agents/claude.ts';
import { codexAgent } from '../../../src/agents/codex.ts';
import { commandAgent } from '../../../src/agents/command.ts';
import { handClock } from '../../support/clock.ts';
import { programTask } from '../program-task.ts';

test.for([
  ['codex', codexAgent],
  ['claude', claudeAgent],
  ['command', commandAgent],
] as const)(
  'that the machine has no room for %s is the machine’s failure, and no other agent is asked',
  async ([, make]) => {
    await using it = await programTask({
      'bin/codex': '#!/bin/sh',
      'bin/claude': '#!/bin/sh',
      'bin/x': '#!/bin/sh',
    });
    it.env['PATH'] = `${it.workspace}/bin`;
    const agent = make({ env: it.env, clock: handClock(0) });
    const task = it.task({
      attributes: { 'command.run': 'x' },
      run: async ({ argv: [program = ''] }) => ({
        kind: 'not_found',
        program,
        why: 'no process is left',
        noRoom: true,
      }),
    });
    const report = await agent.work(task, new AbortController().signal);
    expect(report).toMatchObject({ kind: 'failed', class: 'infra' });
    expect(report).not.toHaveProperty('missing');
  },
);
