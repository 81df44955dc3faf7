/** By what the processes of a run are known, wherever its folder stands. */
import { cpSync, mkdirSync, renameSync } from 'node:fs';
import { expect, test } from 'vitest';
import { processMarker } from '../../src/engine/process-marker.ts';
import { acquireLock } from '../../src/store/lock.ts';
import { realClock } from '../../src/system/clock.ts';
import { temp } from '../system/temp.ts';

test('a run that was moved keeps its mark, a copy has its own, and one that takes the place of the run has the run’s', async () => {
  await using it = await temp();
  const [run, copy, copyOfCopy] = [it.at('run'), it.at('copy'), it.at('copy-2')] as const;
  mkdirSync(run);
  const manifest = { marker: 'r.0123456789abcdef', workspace_path: it.at('run/workspace') };
  const own = async (folder: string) => {
    const answer = await acquireLock(folder, { clock: realClock, continued: () => () => {} });
    if (answer.kind === 'refused') throw new Error(answer.why);
    await answer.lock.release();
    return processMarker(folder, manifest);
  };
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
