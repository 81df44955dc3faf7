import { expect, test } from 'vitest';
import { stubAgent } from '../../src/agents/fake.ts';
import { keepsTheAgentContract, taskFor } from './contract.ts';

keepsTheAgentContract('stub', () => ({ agent: stubAgent(), async [Symbol.asyncDispose]() {} }));

test('the stub says that nothing was done and leaves no response', async () => {
  const report = await stubAgent().work(taskFor(), new AbortController().signal);
  expect(report).toMatchObject({ kind: 'finished', outcome: 'success', response: undefined });
  expect(report.kind === 'finished' && report.notes).toContain('nothing was done');
});
