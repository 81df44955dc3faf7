import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readActs, recordAct } from '../../src/app/acts.ts';
import { handClock } from '../support/clock.ts';

let run = '';
beforeEach(() => {
  run = mkdtempSync(join(tmpdir(), 'factory-acts-'));
});
afterEach(() => rmSync(run, { recursive: true, force: true }));

test('acts are read in the order in which they were recorded, with their details', () => {
  const clock = handClock();
  expect(readActs(run)).toEqual([]);
  recordAct(run, { who: 'ann', what: 'start' }, clock);
  clock.advance(1000);
  recordAct(run, { who: 'ben', what: 'deliver', branch: 'b\n1' }, clock);
  expect(readActs(run)).toEqual([
    { schema_version: 1, at: '2026-01-01T00:00:00.000Z', who: 'ann', what: 'start' },
    { schema_version: 1, at: '2026-01-01T00:00:01.000Z', who: 'ben', what: 'deliver', branch: 'b\n1' },
  ]);
});

test('a line that a full disk has cut, and lines that are no acts, hide no other act', () => {
  const clock = handClock();
  recordAct(run, { who: 'ann', what: 'start' }, clock);
  appendFileSync(join(run, 'acts.jsonl'), 'no JSON\n{"schema_version":9}\n{"schema_version":1,"at":"20');
  recordAct(run, { who: 'ben', what: 'stop' }, clock);
  expect(readActs(run).map(({ who }) => who)).toEqual(['ann', 'ben']);
  expect(readFileSync(join(run, 'acts.jsonl'), 'utf8').endsWith('}\n')).toBe(true);
});

test('an act for a run directory that is gone does not create it again', () => {
  expect(() => recordAct(join(run, 'gone'), { who: 'ann', what: 'stop' }, handClock())).toThrow(/ENOENT/);
});
