import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { engineWords, noticeTargetOf, startEngine } from '../../src/keeper/engines.ts';
import { nextOfJob } from '../../src/keeper/job-end.ts';
import { parsePruneRule } from '../../src/keeper/prune-rule.ts';
import { testJob } from '../support/queue-contract.ts';

const job = (run: readonly string[], resume: readonly string[] = []) => ({
  run_id: 'r1',
  request: { cwd: '/w', run, resume },
});
const words = (of: ReturnType<typeof job>, verb: 'run' | 'resume', early = false) =>
  engineWords(of, { do: 'start', verb, early }, { runsDir: '/runs', notify: 'tell' }).join(' ');

test('an engine begins or resumes the run of its job, in the runs directory of the worker', () => {
  const flags = job(['p.dot', '--max-tokens=5'], ['--max-tokens=9']);
  expect(words(flags, 'run')).toBe(
    'run p.dot --max-tokens=5 --run-id=r1 --runsdir=/runs --json --notify=tell',
  );
  expect(words(flags, 'resume')).toBe('resume r1 --max-tokens=9 --runsdir=/runs --json --notify=tell');
  expect(words(flags, 'resume', true)).toContain('--now');
});

test('a target of notices that a run was submitted with goes before that of the worker', () => {
  expect(words(job(['p.dot', '--notify=mine']), 'run')).not.toContain('tell');
  expect(noticeTargetOf(job(['p.dot', '--notify=mine']), 'tell')).toBe('mine');
  expect(noticeTargetOf(job(['p.dot', '--notify', 'mine']), 'tell')).toBe('mine');
  expect(noticeTargetOf(job(['p.dot']), 'tell')).toBe('tell');
});

test('a rule to remove old runs is written in one word', () => {
  const rule = { olderMs: undefined, keep: undefined, keepFailed: false, undelivered: false };
  expect(parsePruneRule('older=14d')).toEqual({ ...rule, olderMs: 14 * 86_400_000 });
  expect(parsePruneRule('keep=20, keep-failed,undelivered')).toEqual({
    ...rule,
    ...{ keep: 20, keepFailed: true, undelivered: true },
  });
  for (const bad of ['', 'keep-failed', 'older=soon', 'keep=-1', 'younger=1d'])
    expect(parsePruneRule(bad)).toHaveProperty('fix', 'write it like older=14d,keep=20,keep-failed');
});

test('an engine that a drain ends before it has begun its run is no crash', async () => {
  const cancel = new AbortController();
  const start = async () => {
    cancel.abort();
    return { kind: 'ended', code: 1, signal: 'SIGINT', stdout: '', stderr: '' } as const;
  };
  const given = { ...testJob('r1'), request: { cwd: tmpdir(), run: ['p.dot'], resume: [] } };
  const step = { do: 'start', verb: 'run', early: false } as const;
  const engine = startEngine(given, step, cancel.signal, { runsDir: '/runs', notify: undefined, start });
  const moment = await engine.end;
  expect(moment).toMatchObject({ at: 'refusal', code: 130 });
  expect(moment.failed).toBeUndefined();
  const facts = { now: 0, waitMs: 0 };
  for (const standing of [{ kind: 'absent' }, { kind: 'crashed', execution: 'a@1' }] as const)
    expect(nextOfJob(given, standing, moment, facts)).toMatchObject({ do: 'put', target: 'now', job: given });
});

test('only a look at a pull request, which executes no node, is handed the queue', async () => {
  const asked: boolean[] = [];
  const start = async (_: readonly string[], { asksQueue }: { readonly asksQueue: boolean }) => {
    asked.push(asksQueue);
    return { kind: 'ended', code: 130, signal: null, stdout: '', stderr: '' } as const;
  };
  const host = { runsDir: '/runs', notify: undefined, start };
  for (const more of [{}, { follow: ['RUN1'] }])
    for (const verb of ['run', 'resume'] as const) {
      const request = { cwd: tmpdir(), run: ['p.dot'], resume: [], ...more };
      const step = { do: 'start', verb, early: false } as const;
      await startEngine({ ...testJob('r1'), request }, step, new AbortController().signal, host).end;
    }
  expect(asked).toEqual([false, false, true, true]);
});
