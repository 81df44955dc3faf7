/** A stage that spoils its own folder of artifacts: what it has left of its visit stays that visit's. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startRun } from '../../src/app/run/index.ts';
import { layout, nodeLayout } from '../../src/core/records/layout.ts';
import { hashArtifacts } from '../../src/run/artifacts.ts';
import { openRun } from '../../src/run/open-run.ts';
import { temp } from '../platform/temp.ts';
import { pipelineIn, plainFlags, quietDoors } from '../support/host.ts';

test.each([
  ['its stage file is removed', 'rm $FACTORY_NODE_DIR/stage.json'],
  ['a folder is in its stage file’s place', 'cd $FACTORY_NODE_DIR; rm stage.json; mkdir stage.json'],
  ['its stage file names another visit', 'cd $FACTORY_NODE_DIR; sed -i /visit/s/1/0/ stage.json'],
  ['a file is where earlier visits go', 'echo x > $FACTORY_NODE_DIR/visits'],
  ['something is where it will be moved', 'mkdir -p $FACTORY_NODE_DIR/visits/1/tool.stdout.txt/x'],
  ['it seems to be there already', 'cd $FACTORY_NODE_DIR; mkdir -p visits/1; cp stage.json visits/1'],
])('a visit is kept though %s', async (_, spoil) => {
  await using it = await temp();
  const command = `echo $FACTORY_VISIT; test $FACTORY_VISIT = 2 && exit 0; ${spoil}; exit 1`;
  const graph = await pipelineIn(
    it.dir,
    `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
       a [shape=parallelogram, tool_command="${command}"]
       start -> a; a -> a [condition="outcome=fail"]; a -> exit [condition="outcome=success"] }`,
  );
  const where = { runsDir: it.at('runs'), runId: 'r1' };
  const ended = await startRun(graph, where, plainFlags, quietDoors(it.dir, { FACTORY_SANDBOX: 'none' }));
  expect(ended).toMatchObject({ code: 0, result: { stages: 4 } });
  const at = layout(it.at('runs', 'r1'));
  const read = openRun(at.root).history();
  const first = read.ok ? read.records.find((one) => one.type === 'Visit' && one.node === 'a') : undefined;
  const archive = join(nodeLayout(at.node('a')).visits, '1');
  expect(readFileSync(join(archive, 'tool.stdout.txt'), 'utf8')).toBe('1\n');
  expect(first).toMatchObject({ visit: 1, artifacts: (await hashArtifacts(archive)).hashes });
});
