/** Executions as the events of a run tell them. */
import { expect, test } from 'vitest';
import { readEvents } from '../../../src/app/inspect/event-history.ts';
import { openRun } from '../../../src/run/open-run.ts';
import { home } from '../../support/cli.ts';

const event = (type: string, at: string, epoch: number, more: object = {}) =>
  JSON.stringify({ schema_version: 1, type, at: `2026-01-01T${at}.000Z`, epoch, ...more });
const build = { node_id: 'build', visit: 1, node_type: 'tool' };

test('the time from each stop to its resume does not count as time of the execution', async () => {
  const lines = [
    event('StageStarted', '20:00:00', 1, build),
    event('PipelineInterrupted', '20:00:08', 1),
    event('PipelineStarted', '23:00:08', 2),
    event('StageStarted', '23:00:08', 2, build),
    event('StageStarted', '23:00:09', 2, build),
    event('PipelineInterrupted', '23:00:10', 2),
    event('PipelineStarted', '23:00:20', 3),
    event('PipelineStarted', '23:00:30', 4),
    event('StageStarted', '23:00:30', 4, build),
  ];
  await using it = await home({ 'events.jsonl': `${lines.join('\n')}\n` });
  const { of } = await readEvents(openRun(it.path));
  expect(of.get('build@1')).toMatchObject({
    began: '2026-01-01T20:00:00.000Z',
    paused: 3 * 3_600_000 + 20_000,
  });
});
