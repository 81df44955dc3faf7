/** Looks at a pull request that are killed anywhere, and look again: no comment is answered twice, nothing is pushed twice, and no round is
 *  lost or doubled. */
import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { cleanEnv, cli } from '../support/cli.ts';
import { comment, followedPull, git } from '../support/followed-pull.ts';
import type { FakeRequest } from '../support/github-server.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

type Fits = (request: FakeRequest) => boolean;
const looks: Fits = ({ path }) => path.endsWith('/pulls/7');
const reads: Fits = ({ path }) => path === '/graphql';
const checks: Fits = ({ path }) => path.includes('/check-runs');
const answers: Fits = ({ method, path }) => method === 'POST' && path.includes('/comments');

test('a round survives a kill of each of its looks, and is done once', async () => {
  await using f = await followedPull();
  const { it, github, pull, pushed, followed, worked, ask, ours, queuedIds, jobs, at } = f;
  /** One look in a process; `killed` when it was. */
  const looked = (kill?: (end: () => void) => void) =>
    new Promise<string>((done) => {
      const words = ['follow', 'RUN1', '--look', '--repo=my-org/app', '--script=build.json', '--json'];
      const env = cleanEnv({ HOME: it.path, ...f.env });
      const child = spawn(process.execPath, [cli, ...words], { cwd: it.path, env, stdio: 'ignore' });
      writeFileSync(at('pid'), String(child.pid));
      kill?.(() => child.kill('SIGKILL'));
      child.on('close', (code, signal) => done(signal === null ? String(code) : 'killed'));
    });
  const killedAt = (fits: Fits, when: 'onRequest' | 'onAnswer') =>
    looked((end) => {
      github[when] = (request) => {
        if (!fits(request)) return;
        github[when] = undefined;
        end();
      };
    });
  /** Killed by the repository that is pushed to. */
  const killedBy = async (hook: string, exit: number) => {
    const file = join(at('origin.git'), 'hooks', hook);
    writeFileSync(file, `#!/bin/sh\nkill -9 "$(cat "${at('pid')}")"\nexit ${exit}\n`, { mode: 0o755 });
    const ended = await looked();
    rmSync(file);
    return ended;
  };
  git(at('origin.git'), 'config', 'core.logAllRefUpdates', 'always');
  expect(await looked()).toBe('75');
  const first = pushed();
  pull.comments = [comment(1, 'ada', 'Write g.txt.'), comment(2, 'ada', 'Only that.')];
  pull.threads = [{ isResolved: false, path: 'f.txt', comments: [comment(3, 'ada', 'As here.')] }];
  ask('g.txt');
  for (const fits of [looks, reads, checks])
    for (const when of ['onRequest', 'onAnswer'] as const) expect(await killedAt(fits, when)).toBe('killed');
  expect(await looked()).toBe('75');
  expect(await queuedIds()).toEqual(['RUN1-round-1']);
  // As if it had been killed between the record of the round and its job.
  await jobs((queue) => queue.cancel('RUN1-round-1'));
  const record = '.factory/runs/github/follows/RUN1/follow.json';
  writeFileSync(at(record), it.read(record).replace('"queued": true', '"queued": false'));
  expect(await looked()).toBe('75');
  expect(await queuedIds()).toEqual(['RUN1-round-1']);
  expect(await worked('RUN1-round-1')).toBe(0);

  expect(await killedAt(looks, 'onAnswer')).toBe('killed');
  expect(await killedBy('pre-receive', 1)).toBe('killed');
  expect(pushed()).toBe(first);
  expect(await killedBy('post-receive', 0)).toBe('killed');
  for (const when of ['onAnswer', 'onRequest', 'onAnswer'] as const)
    expect(await killedAt(answers, when)).toBe('killed');
  while ((await followed()).why !== 'nothing is asked for') await looked();
  expect(git(at('origin.git'), 'rev-parse', 'factory/RUN1~1')).toBe(first);
  expect(git(at('origin.git'), 'reflog', 'show', 'refs/heads/factory/RUN1').split('\n')).toHaveLength(1);
  expect(
    ours()
      .map(({ body }) => body.split('\n')[0])
      .sort(),
  ).toEqual([
    '<!-- factory answer comment-1 -->',
    '<!-- factory answer comment-2 -->',
    '<!-- factory answer thread-3 -->',
  ]);
  expect(await queuedIds()).toEqual([]);
}, 240_000);

test('a worker looks, executes the round and looks again, until the pull request is merged', async () => {
  await using f = await followedPull();
  const { it, pull, pushed, ask, ours, queuedIds, jobs } = f;
  const first = pushed();
  pull.comments = [comment(1, 'ada', 'Write g.txt.')];
  ask('g.txt');
  const flags = { repo: 'my-org/app', script: 'build.json' };
  expect((await it.called(['follow', 'RUN1'], flags)).code).toBe(0);
  const env = cleanEnv({ HOME: it.path, ...f.env });
  const worker = spawn(process.execPath, [cli, 'keep'], { cwd: it.path, env, stdio: 'ignore' });
  const ended = new Promise<number | null>((done) => worker.on('close', done));
  const patient = { timeout: 60_000, interval: 50 };
  const asleep = (reason: RegExp) =>
    vi.waitFor(async () => {
      const job = await jobs((queue) => queue.get('follow-RUN1'));
      expect([job?.state, job?.job.reason?.text]).toEqual(['later', expect.stringMatching(reason)]);
    }, patient);
  /** In place of two minutes. */
  const wake = () => jobs((queue) => queue.change('follow-RUN1', { target: 'now', reason: null }));
  try {
    await asleep(/RUN1-round-1 is in the queue/);
    await vi.waitFor(async () => expect(await queuedIds()).toEqual(['follow-RUN1']), patient);
    expect(pushed()).toBe(first);
    await wake();
    await asleep(/its comments are answered/);
    expect([pushed() === first, ours().length]).toEqual([false, 1]);
    Object.assign(pull, { state: 'closed', merged: true });
    await wake();
    await vi.waitFor(async () => expect(await queuedIds()).toEqual([]), patient);
  } finally {
    worker.kill('SIGTERM');
  }
  expect(await ended).toBe(0);
}, 240_000);
