/** A resume needs `visits.jsonl`, and reports a missing or damaged one. */
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home } from '../support/in-process.ts';

const pipeline = `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  a [shape=parallelogram, tool_command="echo a >> ledger"]
  b [shape=parallelogram, tool_command="echo b >> ledger"]
  done [shape=Msquare]
  start -> a -> b -> done
}`;

test('a run whose visits.jsonl is missing or damaged is refused with a message, and resumes once the file is restored', async () => {
  await using it = await home({ 'p.dot': pipeline });
  const stopped = await it.factory(['run', 'p.dot', '--run-id', 'r1'], {
    env: { ATTRACTION_TEST_STOP_AFTER_NODE: 'a' },
  });
  expect(stopped.code).toBe(1);
  const visits = join(it.path, '.factory/runs/r1/visits.jsonl');
  const whole = await readFile(visits, 'utf8');
  await rm(visits);
  const missing = await it.factory(['resume', 'r1']);
  expect(missing.stderr).toMatch(/visits\.jsonl is missing or empty; put back a copy of the file/);
  expect(missing.code).toBe(2);
  await writeFile(visits, whole.replace('"type":"Visit"', '"type":'));
  const damaged = await it.factory(['resume', 'r1']);
  expect(damaged.stderr).toMatch(/visits\.jsonl is damaged: line 2 is not JSON/);
  expect(damaged.code).toBe(2);
  await writeFile(visits, whole);
  // An execution whose checkpoint was never written.
  await appendFile(visits, whole.split('\n').at(-2)?.replace('"seq":3', '"seq":4') ?? '');
  const resumed = await it.factory(['resume', 'r1']);
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(await it.read('.factory/runs/r1/workspace/ledger')).toBe('a\nb\n');
  const records = await it.records('.factory/runs/r1/visits.jsonl');
  expect(records.map(({ seq, epoch, node }) => [seq, epoch, node])).toEqual([
    [1, 1, undefined],
    [2, 1, 'start'],
    [3, 1, 'a'],
    [4, 2, 'b'],
    [5, 2, 'done'],
  ]);
});
