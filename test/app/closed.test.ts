/** What a run leaves open in the process that it ran in. */
import fs, { readdirSync, readlinkSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { expect, test } from 'vitest';
import { resumeRun, startRun } from '../../src/app/run/index.ts';
import { DiskStop } from '../../src/platform/files/disk-error.ts';
import { temp } from '../platform/temp.ts';
import { pipelineIn, plainFlags, quietDoors } from '../support/host.ts';

/** Files below `folder` that this process has open. */
function openBelow(folder: string): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path] : [];
    } catch {
      return [];
    }
  });
}

test.skipIf(process.platform !== 'linux')(
  'a run that the disk has stopped leaves none of its files open',
  async () => {
    await using it = await temp();
    const dot =
      'digraph g { workdir="none"; start [type=start]; a [type=tool, tool_command="true"]; exit [type=exit]; start -> a -> exit }';
    const graph = await pipelineIn(it.dir, dot);
    const { fdatasync } = fs;
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    const quiet = quietDoors(it.dir);
    let openThen: readonly string[] = [];
    const doors: typeof quiet = {
      ...quiet,
      watcher: {
        ...quiet.watcher,
        event(event) {
          if (event.type !== 'StageStarted' || event.node_id !== 'a') return;
          openThen = openBelow(it.dir);
          fs.fdatasync = ((_file, done) => done(full)) as typeof fdatasync;
          syncBuiltinESMExports();
        },
      },
    };
    try {
      const running = startRun(graph, { runsDir: it.at('runs'), runId: 'r' }, plainFlags, doors);
      await expect(running).rejects.toThrow(DiskStop);
    } finally {
      fs.fdatasync = fdatasync;
      syncBuiltinESMExports();
    }
    expect(openThen.length).toBeGreaterThan(2);
    expect(openBelow(it.dir)).toEqual([]);
    expect(await resumeRun(it.at('runs', 'r'), graph, plainFlags, quiet)).toMatchObject({ code: 0 });
    expect(openBelow(it.dir)).toEqual([]);
  },
);
