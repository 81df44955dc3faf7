/** A run taken up with other limits, and cut while that is written down. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { manifestHash } from '../../src/engine/kept.ts';
import { carryOut } from '../../src/factory/cover.ts';
import { resumeRun, startRun } from '../../src/factory.ts';
import { layout } from '../../src/model/layout.ts';
import { loadCheckpoint } from '../../src/store/checkpoint.ts';
import { readManifest } from '../../src/store/run-store.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { pipelineIn, plainFlags, quietDoors } from '../support/doors.ts';
import { temp } from '../system/temp.ts';

test('a change that follows a cut change leaves a manifest that is vouched for wherever it is cut', async () => {
  await using it = await temp();
  const graph = await pipelineIn(
    it.dir,
    `digraph g { workdir="none"; start [shape=Mdiamond]; a [shape=parallelogram, tool_command="true"]; exit [shape=Msquare]; start -> a -> exit }`,
  );
  const doors = quietDoors(it.dir, { ATTRACTION_TEST_STOP_AFTER_NODE: 'start' });
  await startRun(graph, { runsDir: it.at('runs'), runId: 'r1' }, plainFlags, doors);
  const dir = it.at('runs', 'r1');
  const at = layout(dir);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots });
  const change = async (maxSteps: number) => {
    const read = await readManifest(dir);
    const loaded = await loadCheckpoint(at.checkpoint);
    if (!read.ok || !loaded.ok) throw new Error('the run cannot be read');
    const { manifest } = read;
    const from = { snapshots, snapshot: await snapshots.load(loaded.checkpoint.snapshot ?? '') };
    const next = { ...manifest, caps: { ...manifest.caps, max_steps: maxSteps } };
    await carryOut({ manifest: next, files: {}, script: 'an answer' }, dir, loaded, from);
  };
  // The first is cut right after it, the second before the manifest is in place.
  await change(11);
  const first = readFileSync(at.manifest, 'utf8');
  writeFileSync(at.change, 'in the way');
  await expect(change(12)).rejects.toThrow();
  expect(readFileSync(at.manifest, 'utf8')).toBe(first);
  const loaded = await loadCheckpoint(at.checkpoint);
  expect(loaded.ok && [loaded.vouched.manifest_sha256, loaded.vouched.manifest_next]).toContain(
    manifestHash(JSON.parse(first)),
  );
  rmSync(at.change);
  const ended = await resumeRun(dir, graph, plainFlags, { ...doors, env: { PATH: process.env['PATH'] } });
  expect(ended).toMatchObject({ code: 0 });
});
