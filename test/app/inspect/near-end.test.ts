/** What `why` says from the end of the records is what it says from all of them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { causeFactsNearEnd } from '../../../src/app/inspect/near-end.ts';
import { readForViews } from '../../../src/app/inspect/read-run.ts';
import { causeFacts, whyOf } from '../../../src/app/inspect/why.ts';
import { realClock } from '../../../src/platform/clock.ts';
import { house } from '../../support/house.ts';

/** A loop of twelve executions, and what comes after it. */
const loop = (after: string) => `digraph g { workdir="none"; start; exit
  count [type=tool, tool_command="echo x >> n; test $(wc -l < n) -lt 6"]
  again [type=tool, tool_command="echo no >&2; exit 1"]
  start -> count; count -> again [condition="outcome=success"]; again -> count [condition="outcome=fail"]
  ${after} }`;
const pipelines = {
  'completed.dot': loop('count -> exit [condition="outcome=fail"]'),
  'failed.dot': loop('count -> exit [condition="outcome=retry"]'),
  'limit.dot': loop('max_steps=11; count -> exit [condition="outcome=fail"]'),
  'interrupted.dot': loop(`rest [type=tool, tool_command="sleep 60"]
    count -> rest [condition="outcome=fail"]; rest -> exit`),
  'branches.dot': `digraph g { workdir="none"; start; exit; fan [shape=component]; a [type=tool, tool_command="exit 1"]
    b [type=tool, tool_command="true"]; join [shape=tripleoctagon, join_policy=all_success]
    start -> fan; fan -> a; fan -> b; a -> join [condition="outcome=fail || outcome=success"]; b -> join
    join -> exit [condition="outcome=success"] }`,
};
const ids = ['completed', 'failed', 'limit', 'interrupted'] as const;

let it: Awaited<ReturnType<typeof house>>;
const host = () => ({ cwd: it.path, clock: realClock });
const dirOf = (id: string) => join(it.path, '.factory/runs', id);

beforeAll(async () => {
  it = await house(pipelines);
  for (const id of ['completed', 'failed', 'limit', 'branches'])
    await it.run(`${id}.dot`, { runId: id, quiet: true });
  const rests = (): boolean =>
    existsSync(join(dirOf('interrupted'), 'journal.jsonl')) &&
    /"node":"rest"/.test(it.read('.factory/runs/interrupted/journal.jsonl'));
  await it.runUntil('interrupted.dot', { runId: 'interrupted', quiet: true }, rests);
});
afterAll(() => it[Symbol.asyncDispose]());

async function wholeRun(id: string) {
  const read = await readForViews(dirOf(id), host());
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read;
}

async function near(id: string, bytes: number) {
  const facts = await causeFactsNearEnd(dirOf(id), (await wholeRun(id)).row, host(), bytes);
  return facts && (await whyOf(facts));
}

describe.for(ids)('the cause of a run that is %s', (id) => {
  test('is the same from any end of its journal that can tell it', async () => {
    const cause = await whyOf(causeFacts(await wholeRun(id)));
    const { length } = it.read(`.factory/runs/${id}/journal.jsonl`);
    const sizes = [200, 2000, 4000, 8000, length - 1];
    const causes = await Promise.all(sizes.map((bytes) => near(id, bytes)));
    for (const one of causes) expect(one ?? cause).toEqual(cause);
    expect(causes.at(-1)).toEqual(cause);
  });
});

test('the end alone does not tell the cause of a run with branches', async () => {
  const { length } = it.read('.factory/runs/branches/journal.jsonl');
  expect(await near('branches', length - 1)).toBeUndefined();
});

/** Each file of the completed run, changed. */
const changes = {
  'a line of the end': ['journal.jsonl', (text: string) => text.replace(/"steps":10,/, '"steps":11,')],
  'the line that the checkpoint names': [
    'checkpoint.json',
    (text: string) => text.replace(/("sha256": ")../, '$1xx'),
  ],
  'the checkpoint, which is missing': ['checkpoint.json', () => ''],
  'the journal that the result is of': [
    'result.json',
    (text: string) => text.replace(/(journal.jsonl[^}]*"sha256": ")../, '$1xx'),
  ],
  'the end of the journal, torn': ['journal.jsonl', (text: string) => `${text}{"seq":`],
} as const;
test.for(Object.keys(changes) as (keyof typeof changes)[])('%s: all is read', async (what) => {
  const { row } = await wholeRun('completed');
  const [name, change] = changes[what];
  const path = join(dirOf('completed'), name);
  const before = readFileSync(path, 'utf8');
  const after = change(before);
  expect(after).not.toBe(before);
  writeFileSync(path, after);
  try {
    expect(await causeFactsNearEnd(dirOf('completed'), row, host(), before.length - 1)).toBeUndefined();
  } finally {
    writeFileSync(path, before);
  }
});
