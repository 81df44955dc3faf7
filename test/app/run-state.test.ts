/** By what the processes of a run are known, wherever its folder stands. */
import { cpSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { processMarker } from '../../src/app/run/run-state.ts';
import { realClock } from '../../src/platform/clock.ts';
import { acquireLock } from '../../src/run/lock.ts';
import { temp } from '../platform/temp.ts';
import { diskIn } from '../workspace/disks.ts';

async function markerOf(folder: string, manifest: Parameters<typeof processMarker>[1]): Promise<string> {
  const answer = await acquireLock(folder, { clock: realClock });
  if (answer.kind === 'refused') throw new Error(answer.why);
  await answer.lock.release();
  return processMarker(folder, manifest);
}

test('a run that was moved keeps its mark, a copy has its own, and one that takes the place of the run has the run’s', async () => {
  await using it = await temp();
  const [run, copy, copyOfCopy] = [it.at('run'), it.at('copy'), it.at('copy-2')] as const;
  mkdirSync(run);
  const manifest = { marker: 'r.0123456789abcdef', workspace_path: it.at('run/workspace') };
  const own = (folder: string) => markerOf(folder, manifest);
  expect(await own(run)).toBe(manifest.marker);
  cpSync(run, copy, { recursive: true });
  const copys = await own(copy);
  expect(copys).toMatch(/^r\.[0-9a-f]{16}$/);
  cpSync(copy, copyOfCopy, { recursive: true });
  expect(new Set([manifest.marker, copys, await own(copyOfCopy)]).size).toBe(3);
  expect(await own(copy)).toBe(copys);
  renameSync(run, it.at('moved'));
  expect(await own(it.at('moved'))).toBe(manifest.marker);
  renameSync(copy, run);
  expect(await own(run)).toBe(manifest.marker);
});

test('a copy that the disk has made, with the numbers of all files, has its own mark', async (context) => {
  await using it = await temp();
  const folders = ['one', 'two', 'three'].map((name) => it.at(name));
  for (const folder of folders) mkdirSync(folder);
  const [first, second, third] = folders.map((folder) => diskIn(folder, 'tmpfs'));
  using one = first;
  using two = second;
  using three = third;
  if (one === undefined || two === undefined || three === undefined)
    return context.skip('no such disk can be made here');
  const runs = [one, two, three].map(({ path }) => join(path, 'run'));
  for (const run of runs) mkdirSync(run);
  if (new Set(runs.map((run) => statSync(run).ino)).size > 1) return context.skip('no numbers are alike');
  const [run = '', copy = '', other = ''] = runs;
  const manifest = { marker: 'r.0123456789abcdef', workspace_path: join(run, 'workspace') };
  expect(await markerOf(run, manifest)).toBe(manifest.marker);
  cpSync(run, copy, { recursive: true });
  cpSync(run, other, { recursive: true });
  const marks = [manifest.marker, await markerOf(copy, manifest), await markerOf(other, manifest)];
  expect(new Set(marks).size).toBe(3);
});
