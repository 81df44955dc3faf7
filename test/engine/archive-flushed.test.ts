/** What a visit has left moves to make room for the next one: when the power goes, it is at one of the two places. */
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { noteDisk } from '../support/disk-notes.ts';
import { temp } from '../system/temp.ts';

const dot = `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
  a [shape=parallelogram, tool_command="echo a >> log.txt"]
  b [shape=parallelogram, tool_command="test $(wc -l < log.txt) -gt 1"]
  start -> a -> b; b -> a [condition="outcome=fail"]; b -> exit }`;

test('an archived visit is on the disk before the folder that it was in is flushed without it', async () => {
  await using it = await temp();
  fs.writeFileSync(it.at('p.dot'), dot);
  fs.mkdirSync(it.at('runs'));
  using disk = noteDisk();
  const { told } = disk;
  const { readPipeline, startRun } = await import('../../src/factory.ts');
  const { plainFlags, quietDoors } = await import('../support/doors.ts');
  const { graph } = await readPipeline('p.dot', it.dir);
  if (graph === undefined) throw new Error('the pipeline is sound');
  const doors = quietDoors(it.dir, { FACTORY_SANDBOX: 'none' });
  const ended = await startRun(graph, { runsDir: it.at('runs'), runId: 'r1' }, plainFlags, doors);
  expect(ended).toMatchObject({ code: 0 });
  const node = it.at('runs', 'r1', 'a');
  // The name of its folder, before the checkpoint that counts its first visit; that of the checkpoint before is flushed too.
  const checkpoints = told.flatMap((what, at) => (/^moved .*\/\.checkpoint\.json\./.test(what) ? [at] : []));
  const first = told.indexOf(`flushed ${join(node, 'status.json')}`);
  const before = checkpoints.findLast((at) => at < first);
  const next = checkpoints.find((at) => at > first);
  const between = told.slice(before, next);
  expect(between.filter((what) => what === `flushed ${it.at('runs', 'r1')}`)).toHaveLength(2);
  const moved = told.indexOf(`moved ${join(node, 'stage.json')}`);
  expect(moved).toBeGreaterThan(0);
  const after = told.slice(moved);
  const [archive, parent, folder, left] = ['visits/1', 'visits', '', 'status.json'].map((name) =>
    after.indexOf(`flushed ${join(node, name)}`),
  );
  expect([archive, parent]).not.toContain(-1);
  // The flush of a new file takes its folder along where there is no journal.
  expect(Math.max(archive ?? 0, parent ?? 0)).toBeLessThan(Math.min(folder ?? 0, left ?? 0));
});
