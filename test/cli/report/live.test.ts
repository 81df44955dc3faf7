import { expect, test } from 'vitest';
import { openView } from '../../../src/cli/report/live.ts';
import { tail } from '../../../src/cli/report/run.ts';
import { handClock } from '../../support/clock.ts';

test.for([
  ['all of it', 20, 'all of it'],
  ['only the last words of it', 15, '…st words of it'],
  ['two\n\n lines\tand\r\u001b[31m colour', 40, 'two lines and [31m colour'],
  ['\u202eturned\u2066', 20, 'turned'],
  ['half a pair \ud83d', 20, 'half a pair'],
  ['\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57', 12, '…\u5b57\u6f22\u5b57\u6f22\u5b57'],
  ['no room', 5, ''],
] as const)('of %j there are %i columns to show %j', ([text, room, shown]) => {
  expect(tail(text, room)).toBe(shown);
});

test('on a terminal the reasoning is shown by its last words, until the answer begins', async () => {
  let screen = '';
  const clock = handClock();
  const view = await openView(
    { color: false },
    {
      cwd: '/',
      env: {},
      out: () => {},
      err: (text) => {
        screen += text;
      },
      outIsTerminal: true,
      errIsTerminal: true,
      width: 60,
      clock,
      every: () => () => {},
    },
  );
  const last = () => screen.split('\r\x1b[2K').at(-1);
  view.watcher.event({
    type: 'StageStarted',
    schema_version: 1,
    at: '2026-01-01T00:00:00.000Z',
    node_id: 'plan',
    visit: 1,
    node_type: 'codergen',
  });
  view.watcher.streamed('plan', 'I look at the\nspec, ', 'reasoning');
  view.watcher.streamed('plan', 'line by line', 'reasoning');
  expect(last()).toBe('   0.0s … plan 0.0s  I look at the spec, line by line');
  view.watcher.streamed('plan', 'and again, because it is so very long a text', 'reasoning');
  expect(last()).toMatch(/^ {3}0\.0s … plan 0\.0s {2}….*it is so very long a text$/);
  expect(last()?.length).toBeLessThan(60);
  view.watcher.streamed('plan', '{"a', 'answer');
  expect(last()).toBe('   0.0s … plan 0.0s  3 characters');
});
