/** A pull request that is followed by a worker whose queue is in PostgreSQL. */
import { spawn } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { cleanEnv, cli } from '../support/cli.ts';
import { comment, followedPull, git } from '../support/followed-pull.ts';
import { postgresForTests, startPostgres, type TestServer } from '../support/postgres.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const here = postgresForTests();

describe.skipIf(here.skipped !== '')(`follow with PostgreSQL${here.skipped}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPostgres(here.programs);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('a worker looks, executes the round and looks again, until the pull request is merged', {
    timeout: 240_000,
  }, async () => {
    await using f = await followedPull();
    const { it, at, pull, pushed, ask, ours } = f;
    symlinkSync(join(here.boss, 'node_modules'), at('node_modules'));
    const db = server.url('follow');
    const env = { ...f.env, FACTORY_DB: db };
    it.environment(env);
    expect((await it.called(['queue'], { migrate: true })).code).toBe(0);
    const first = pushed();
    pull.comments = [comment(1, 'ada', 'Write g.txt.')];
    ask('g.txt');
    const flags = { repo: 'my-org/app', script: 'build.json' };
    const queued = await it.called(['follow', 'RUN1'], flags);
    expect([queued.code, queued.out]).toEqual([0, 'queued: follow-RUN1  follow my-org/app#7\n']);
    const queue = await openQueue(at('.factory/runs'), { clock: realClock, env: {}, db, cwd: it.path });
    if ('problems' in queue) throw new Error(JSON.stringify(queue));
    const worker = spawn(process.execPath, [cli, 'keep'], {
      ...{ cwd: it.path, env: cleanEnv({ HOME: it.path, ...env }), stdio: 'ignore' },
    });
    const ended = new Promise<number | null>((done) => worker.on('close', done));
    const patient = { timeout: 60_000, interval: 50 };
    const asleep = (reason: RegExp) =>
      vi.waitFor(async () => {
        const job = await queue.get('follow-RUN1');
        expect([job?.state, job?.job.reason?.text]).toEqual(['later', expect.stringMatching(reason)]);
      }, patient);
    /** In place of two minutes. */
    const wake = () => queue.change('follow-RUN1', { target: 'now', reason: null });
    const ids = async () => (await queue.list()).map(({ job }) => job.run_id);
    try {
      await asleep(/RUN1-round-1 is in the queue/);
      await vi.waitFor(async () => expect(await ids()).toEqual(['follow-RUN1']), patient);
      await wake();
      await asleep(/its comments are answered/);
      expect(git(at('origin.git'), 'rev-parse', 'factory/RUN1~1')).toBe(first);
      expect(ours()).toHaveLength(1);
      Object.assign(pull, { state: 'closed', merged: true });
      await wake();
      await vi.waitFor(async () => expect(await ids()).toEqual([]), patient);
    } finally {
      worker.kill('SIGTERM');
      await queue.close();
    }
    expect(await ended).toBe(0);
  });
});
