/** A run that has ended, but whose engine has not come to saying so. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { type Doors, readPipeline, resumeRun, startRun } from '../../src/factory.ts';
import { layout } from '../../src/model/layout.ts';
import { realClock } from '../../src/system/clock.ts';
import { isStopped, processId } from '../../src/system/proc.ts';
import { temp } from '../system/temp.ts';

test.skipIf(process.platform !== 'linux')(
  'what an engine that is stopped has not said is said by who takes the run over',
  async () => {
    await using it = await temp();
    writeFileSync(
      it.at('p.dot'),
      'digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }',
    );
    mkdirSync(it.at('runs'));
    const { graph } = await readPipeline('p.dot', it.dir);
    if (graph === undefined) throw new Error('the pipeline is sound');
    const doors: Doors = {
      cwd: it.dir,
      env: { PATH: process.env['PATH'] },
      clock: realClock,
      signal: new AbortController().signal,
      watcher: { event: () => {}, streamed: () => {}, spent: () => {} },
      log: () => {},
    };
    const flags = { vars: {}, envPass: [], allowDirty: false, acceptChanges: false };
    await startRun(graph, { runsDir: it.at('runs'), runId: 'r1' }, flags, doors);
    const at = layout(it.at('runs', 'r1'));
    const engine = spawn('sleep', ['1000'], { stdio: 'ignore' });
    const ended = once(engine, 'exit');
    try {
      engine.kill('SIGSTOP');
      const id = processId(engine.pid ?? 0);
      await vi.waitFor(() => expect(id !== undefined && isStopped(id)).toBe(true));
      const path = `${at.locks}/000001.json`;
      const lock = JSON.parse(readFileSync(path, 'utf8'));
      const owner = { ...lock, pid: id?.pid, start_time: id?.startTime, released: null };
      writeFileSync(path, JSON.stringify(owner));
      rmSync(at.result);
      const dir = it.at('runs', 'r1');
      expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ code: 0 });
      expect(existsSync(at.result)).toBe(false);
      expect(await resumeRun(dir, graph, { ...flags, takeOver: true }, doors)).toMatchObject({ code: 0 });
      expect(existsSync(at.result)).toBe(true);
    } finally {
      engine.kill('SIGKILL');
      await ended;
    }
  },
);
