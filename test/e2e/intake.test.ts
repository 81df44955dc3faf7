/** Many processes take the issues of a repository at once, and some are killed: every issue becomes one run, with one comment. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { cleanEnv, cli, home } from '../support/cli.ts';
import { startGitHub } from '../support/github-server.ts';

const pipeline = `digraph g {
  workdir="none" vars="spec=@none.md"
  start [shape=Mdiamond]
  ask [prompt="build \${var.spec}"]
  exit [shape=Msquare]
  start -> ask -> exit
}`;

/** When a process is killed: at so many of its requests, before or after the server has carried it out. */
type Kill = { readonly at: number; readonly carriedOut: boolean };

async function taken({
  issues,
  pollers,
  kills,
}: {
  readonly issues: number;
  readonly pollers: number;
  readonly kills: readonly Kill[];
}) {
  await using it = await home({ 'p.dot': pipeline });
  await using github = await startGitHub();
  github.pageSize = 5;
  const repo = github.repository('my-org/app');
  for (let n = 0; n < issues; n++) repo.issue();
  const running = new Map<string, { kill: () => void; kills: Kill | undefined; requests: number }>();
  const by = (token: string | undefined) => running.get((token ?? '').replace('Bearer ', ''));
  let killed = 0;
  const check = (carriedOut: boolean) => (request: { headers: { authorization?: string | undefined } }) => {
    const one = by(request.headers.authorization);
    if (one === undefined) return;
    if (!carriedOut) one.requests += 1;
    if (one.kills?.carriedOut !== carriedOut || one.requests !== one.kills.at) return;
    killed += 1;
    one.kill();
  };
  github.onRequest = check(false);
  github.onAnswer = check(true);

  const poll = (name: string, kill: Kill | undefined) =>
    new Promise<number | null>((done) => {
      github.tokens.set(name, 'factory-user');
      const child = spawn(
        process.execPath,
        [cli, 'intake', 'github', 'my-org/app', '--pipeline', 'p.dot', '--quiet'],
        {
          cwd: it.path,
          env: cleanEnv({ HOME: it.path, GITHUB_API_URL: github.url, GITHUB_TOKEN: name }),
          stdio: 'ignore',
        },
      );
      running.set(name, { kill: () => child.kill('SIGKILL'), kills: kill, requests: 0 });
      child.on('close', (code) => done(code));
    });

  // Two at a time, so that each of them finds the lock of another now and then.
  const plan = Array.from({ length: pollers }, (_, n) => ({ name: `poller-${n}`, kill: kills[n] }));
  const lane = async (): Promise<void> => {
    for (let next = plan.shift(); next !== undefined; next = plan.shift()) {
      // One that finds the lock of another has asked for the repository only.
      do await poll(next.name, next.kill);
      while (next.kill !== undefined && running.get(next.name)?.requests === 1);
    }
  };
  await Promise.all([lane(), lane()]);
  const last = await poll('last', undefined);
  // All of them are there a second time, and a new one.
  repo.issue();
  const again = await poll('again', undefined);
  const queue = await openQueue(join(it.path, '.factory/runs'), { clock: realClock, env: {} });
  if ('problems' in queue) throw new Error('no queue');
  const jobs = (await queue.list()).map(({ job }) => job.run_id);
  await queue.close();
  return {
    ...{ last, again },
    killed,
    jobs: new Set(jobs).size,
    all: jobs.length,
    comments: repo.issues.map((one) => one.comments.length),
  };
}

test('six processes, of which four are killed between a job and its comment or elsewhere, take each issue once', async () => {
  const kills = [
    // The comment of the first issue is written, and its answer lost; the same of the second one; before one; in the list.
    { at: 6, carriedOut: true },
    { at: 7, carriedOut: true },
    { at: 7, carriedOut: false },
    { at: 2, carriedOut: false },
  ];
  const { killed, ...ended } = await taken({ issues: 8, pollers: 6, kills });
  expect(killed).toBe(4);
  expect(ended).toEqual({ last: 0, again: 0, jobs: 9, all: 9, comments: Array.from({ length: 9 }, () => 1) });
}, 120_000);
