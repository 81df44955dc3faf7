import { expect, test } from 'vitest';
import { deliverLine, forkLine, startLine } from '../../../src/web/page/text/commands.ts';

test('a start is the command with its variables, agent and limits, quoted for a shell', () => {
  expect(
    startLine({
      pipeline: 'my pipeline.dot',
      vars: { spec: 'docs/spec.md', who: "O'Brien" },
      agent: 'codex',
      model: 'gpt-5.2',
      limits: { max_cost_usd: 2.5, max_wall: '2h' },
    }),
  ).toBe(
    String.raw`factory run 'my pipeline.dot' --var spec=docs/spec.md --var 'who=O'\''Brien' --agent codex --model gpt-5.2 --max-cost-usd 2.5 --max-wall 2h`,
  );
  expect(startLine({ pipeline: 'build', vars: {}, limits: {} })).toBe('factory run build');
});

test('a fork and a delivery name what differs from the defaults', () => {
  expect(forkLine('01M8', { at: 'verify@3', before: true })).toBe('factory fork 01M8 --at verify@3 --before');
  expect(forkLine('01M8', { at: 'verify', before: false })).toBe('factory fork 01M8 --at verify');
  expect(deliverLine('01M8', { branch: 'factory/01M8', reuse: false, push: true })).toBe(
    'factory deliver 01M8 --push',
  );
  expect(deliverLine('01M8', { branch: 'x', reuse: true })).toBe('factory deliver 01M8 --branch x --reuse');
  expect(deliverLine('01M8', { to: '../new' })).toBe('factory deliver 01M8 --to ../new');
});
