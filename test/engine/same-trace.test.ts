/** When two runs tell the same story, and what of a story does not count. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { spellings, withoutTimes } from '../../src/engine/normal.ts';
import { compareTraces, differenceWords, type Told } from '../../src/engine/same-trace.ts';
import type { JsonObject } from '../../src/model/json.ts';

const session = (resume: boolean): JsonObject => ({ type: 'SessionInitialized', resume, agent: 'fake' });
const began: JsonObject = { type: 'PipelineStarted', start_node: 'a' };
const input = (node: string, visit: number): JsonObject => ({
  type: 'NodeInputCaptured',
  node_id: node,
  visit,
  context_before: {},
});
const output = (node: string, visit: number, said = 'x'): JsonObject => ({
  type: 'NodeOutputCaptured',
  node_id: node,
  visit,
  outcome: 'success',
  context_after: { said },
});
const route = (from: string, to: string): JsonObject => ({
  type: 'RouteEvaluated',
  from_node: from,
  next_node: to,
});
const done: JsonObject = { type: 'PipelineCompleted' };

const told = (runId: string, ...records: readonly JsonObject[]): Told => ({
  place: { runId, dirs: [`/runs/${runId}`] },
  records: records.map((record, at) => ({
    ...record,
    run_id: runId,
    seq: at + 1,
    epoch: 1,
    at: `t${runId}${at}`,
  })),
});
const whole = [
  session(false),
  began,
  input('a', 1),
  output('a', 1),
  route('a', 'b'),
  input('b', 1),
  output('b', 1),
  route('b', 'exit'),
  done,
];

describe('two traces', () => {
  test('are the same but for run id, places, times, process ids and commits', () => {
    const tells = (run: string, day: number) =>
      told(
        run,
        session(false),
        began,
        input('a', 1),
        output(
          'a',
          1,
          `in /runs/${run}/workspace of ${run}, pid ${day}, 2026-01-0${day}T00:00:00Z, took ${day}.5ms: ${String(day).repeat(40)}`,
        ),
        done,
      );
    expect(compareTraces(tells('one', 1), tells('two', 2), [])).toEqual({ same: 5 });
  });

  test('differ where a field does, and the first one is named', () => {
    const other = whole.map((record) => (record === whole[6] ? output('b', 1, 'y') : record));
    const compared = compareTraces(told('one', ...whole), told('two', ...other), []);
    if ('same' in compared) throw new Error('they do not differ');
    expect(differenceWords(compared.difference)).toBe(
      'record 7 (NodeOutputCaptured b@1): context_after.said was "x" and is "y"',
    );
  });

  test('differ where one ends before the other', () => {
    const compared = compareTraces(told('one', ...whole), told('two', ...whole.slice(0, -1)), []);
    if ('same' in compared) throw new Error('they do not differ');
    expect(differenceWords(compared.difference)).toBe(
      'record 9: the recorded run has PipelineCompleted, the replay the end',
    );
  });

  test('are the same wherever one of them was killed and resumed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: whole.length - 1 }), fc.boolean(), (cut, here) => {
        const began = whole.slice(0, cut);
        // A resume makes the visit again that was under way; one that had ended is not told again.
        const last = began.at(-1)?.['type'] === 'NodeInputCaptured' ? cut - 1 : cut;
        const resumed = [
          ...began,
          session(true),
          { type: 'ResumeLoaded' },
          whole[1] ?? {},
          ...whole.slice(last),
        ];
        const [a, b] = here ? [whole, resumed] : [resumed, whole];
        expect(compareTraces(told('one', ...a), told('two', ...b), [])).toEqual({ same: whole.length });
      }),
    );
  });

  test('are the same where one was killed before it had told of itself, and resumed', () => {
    const resumed = [session(true), { type: 'ResumeLoaded' }, ...whole.slice(1)];
    expect(compareTraces(told('one', ...resumed), told('two', ...whole), [])).toEqual({ same: whole.length });
    expect(compareTraces(told('one', ...whole), told('two', ...resumed), [])).toEqual({ same: whole.length });
  });

  test('are the same where a kill lost the story of the stage before it', () => {
    const lost = [...whole.slice(0, 3), session(true), { type: 'ResumeLoaded' }, ...whole.slice(5)];
    expect(compareTraces(told('one', ...lost), told('two', ...whole), [])).toHaveProperty('same');
    expect(compareTraces(told('one', ...whole), told('two', ...lost), [])).toHaveProperty('same');
  });
});

describe('texts', () => {
  test('a run id is renamed as a word of its own, also where it is a word that both runs use', () => {
    const { was, is } = spellings(
      { runId: 'base', dirs: ['/r/base'] },
      { runId: 'f', dirs: ['/r/f', '/real/f'] },
      [{ runId: 'old', dirs: ['/r/old'] }],
    );
    expect(was('base of /r/base/w for free')).toBe(is('f of /real/f/w for free'));
    expect(was('base runs f.dot')).toBe(is('f runs f.dot'));
    expect(was('/r/base2')).toBe('/r/base2');
    expect(was('the f of base')).toBe(is('the f of f'));
    expect(was('in old: /r/old/x')).toBe('in base: <run>/x');
  });

  test.for([
    ['duration_ms 12.5', 'duration_ms 3'],
    ['# took 1.25s at 10:20:30', '# took 0.1s at 11:00:00.5'],
    ['ok 3 (12ms)', 'ok 3 (1.5 ms)'],
    ['"elapsed_ms":12', '"elapsed_ms":7'],
    ['Sat at 2026-01-01T00:00:00.123Z', 'Sat at 2027-01-01T00:00:00Z'],
  ] as const)('%s is %s at another time', ([a, b]) => {
    expect(withoutTimes(a)).toBe(withoutTimes(b));
  });

  test.for([
    ['3 of 5', '4 of 5'],
    ['timeout 5s', 'timeout 6s'],
    ['version 1.2.3', 'version 1.2.4'],
  ] as const)('%s is not %s at any time', ([a, b]) => {
    expect(withoutTimes(a)).not.toBe(withoutTimes(b));
  });
});
