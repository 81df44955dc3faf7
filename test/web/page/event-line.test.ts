import { expect, test } from 'vitest';
import { eventLine } from '../../../src/web/page/text/event-line.ts';

const base = { seq: 1, run_id: '01M8', epoch: 1, at: '2026-11-26T10:00:00Z' };

test('an event says what happened, where and with which state', () => {
  const failed = { failure_reason: 'npm test exited with 1', failure_class: 'product', elapsed_ms: 640 };
  expect(eventLine({ ...base, type: 'StageFailed', node_id: 'verify', visit: 2, ...failed })).toEqual({
    what: 'product · npm test exited with 1 · 0.6 s',
    state: 'fail',
    at: 'verify@2',
  });
  expect(eventLine({ ...base, type: 'CheckpointSaved', last_completed_node: 'verify' })).toEqual({
    what: 'checkpoint saved',
    at: 'verify',
  });
});

test('an event of another version shows its type', () => {
  expect(eventLine({ ...base, type: 'GateOpened' })).toEqual({ what: 'GateOpened' });
});
