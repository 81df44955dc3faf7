/** The verbs that look at the queue of a runs directory find it in PostgreSQL, by `--db` as by FACTORY_DB. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cleanEnv } from '../support/cli.ts';
import { postgresForTests, startPostgres, type TestServer } from '../support/postgres.ts';
import { postgresFleet } from '../support/postgres-fleet.ts';
import { testJob } from '../support/queue-contract.ts';
import { call, type Flags } from '../support/verb.ts';
import { served } from '../web/served.ts';

const here = postgresForTests();
const gates = `digraph g {
  graph [label="Release", workdir="none"]
  start [shape=Mdiamond] exit [shape=Msquare]
  gate [shape=hexagon, prompt="Ship it?"]
  start -> gate
  gate -> exit [label="[A] Approve"]
}`;

describe.skipIf(here.skipped !== '')(`verbs${here.skipped}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPostgres(here.programs);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** A run `r` that asks a question, and whose job is held for it; the job `later-one` has no run yet. */
  async function asking() {
    const fleet = await postgresFleet(server, here.boss);
    const { cwd, url } = fleet;
    writeFileSync(join(cwd, 'p.dot'), gates);
    mkdirSync(join(cwd, 'home'));
    const factory = (words: string, flags: Flags = {}, env: Readonly<Record<string, string>> = {}) =>
      call(words.split(' '), flags, { cwd, env: cleanEnv({ HOME: join(cwd, 'home'), ...env }) });
    await factory('run p.dot', { runId: 'r', detach: true });
    expect((await factory('wait r')).code).toBe(75);
    const queue = await fleet.open();
    const reason = { kind: 'question', text: 'it asks', at: '2026-03-01T12:00:00.000Z' } as const;
    await queue.submit([
      { job: testJob('r', { reason }), target: 'held' },
      { job: testJob('later-one'), target: { dueAt: '2099-01-01T00:00:00.000Z' } },
    ]);
    return { queue, url, cwd, factory, [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose]() };
  }

  test('stop, rm, prune, runs and show ask the database that they are given, and say what is missing without', async () => {
    await using it = await asking();
    const needed = /the queue of \S+ is in \S+[\s\S]*set FACTORY_DB to its URL \(or pass --db\)/;
    const without = await it.factory('stop r');
    expect(without).toMatchObject({ code: 0, err: expect.stringMatching(needed) });
    for (const verb of ['rm r', 'prune --keep 0'])
      expect(await it.factory(verb), verb).toMatchObject({ code: 2, err: expect.stringMatching(needed) });
    for (const [flags, env] of [
      [{ db: it.url }, {}],
      [{}, { FACTORY_DB: it.url }],
    ] as const) {
      const tell = async (words: string) => {
        const { code, out, err } = await it.factory(words, flags, env);
        return `${code} ${out}${err}`;
      };
      expect(await tell('stop r')).not.toContain('warning');
      expect(await tell('stop later-one')).toContain('run later-one is queued and has not begun');
      expect(await tell('rm r --force')).toContain('run r is in the queue (held); nothing was removed');
      expect(await tell('prune --keep 0')).toContain('kept r: it is in the queue');
      expect(await tell('runs')).toContain('1 is queued and has not begun: factory queue');
      expect(await tell('show later-one')).toContain('it sleeps until 2099');
      expect(await tell('why later-one')).toContain('it sleeps until 2099');
    }
  });

  test('an answer makes the job due: of the command, and over HTTP of a server with --db', async () => {
    await using it = await asking();
    await using web = await served(it.cwd, { db: it.url }, { HOME: join(it.cwd, 'home') });
    const queue = await web.json('/api/v1/queue');
    expect(queue.jobs).toMatchObject([{ run_id: 'later-one' }, { run_id: 'r', state: 'held' }]);
    const hold = await web.ask('/api/v1/queue/later-one/hold', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect([hold.status, (await it.queue.get('later-one'))?.state]).toEqual([200, 'held']);
    const answer = await web.ask('/api/v1/runs/r/answer', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ choice: 'A' }),
    });
    expect(JSON.parse(answer.text)).toMatchObject({ resumed: 'queued', pid: null });
    expect(await it.queue.get('r')).toMatchObject({ state: 'waiting' });
    await using other = await asking();
    const done = await other.factory('answer r --choice A --json', { db: other.url });
    expect(JSON.parse(done.out)).toMatchObject({ resumed: 'queued' });
    expect(await other.queue.get('r')).toMatchObject({ state: 'waiting' });
  });
});
