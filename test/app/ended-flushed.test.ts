/** The workspace of a run that has ended outlives a power cut, however it ended. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { noteDisk } from '../support/disk-notes.ts';
import { withoutSync } from '../support/without-sync.ts';

const pipeline = (then: string, more = '') => `digraph e { workdir="none"
  start [shape=Mdiamond]; done [shape=Msquare]
  make [shape=parallelogram, max_visits=2, tool_command="echo made > made.txt; ${then}"]
  start -> make; make -> done [condition="outcome=success"]; ${more} }`;

test.each([
  ['at its exit', 0, pipeline('true')],
  [
    'at an exit that means failure',
    1,
    pipeline('false', 'bad [shape=Msquare, outcome=fail]; make -> bad [condition="outcome=fail"]'),
  ],
  ['where no edge led on', 1, pipeline('false')],
  ['at a cap', 1, pipeline('false', 'make -> make [condition="outcome=fail"]')],
])('a run that ended %s has flushed its workspace before its result', async (_, code, text) => {
  using _sync = withoutSync();
  using disk = noteDisk();
  const { house } = await import('../support/house.ts');
  await using it = await house({ 'p.dot': text }, () => ({ FACTORY_SANDBOX: 'none' }));
  expect(await it.run('p.dot', { runId: 'r' })).toMatchObject({ code });
  const run = join(it.path, '.factory/runs/r');
  const told = disk.told.findIndex((line) => line.startsWith(`moved ${join(run, '.result.json')}`));
  for (const name of ['made.txt', '']) {
    const flushed = disk.told.lastIndexOf(`flushed ${join(run, 'workspace', name)}`, told);
    expect({ name, flushed: flushed >= 0 }).toEqual({ name, flushed: true });
  }
});
