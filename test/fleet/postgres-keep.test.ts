/** The life of a queue in PostgreSQL with workers, engines and the server as processes of their own, by the built command line. */
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Home, home } from '../support/cli.ts';
import { keeper, queueOf } from '../support/keeper.ts';
import { postgresForTests, startPostgres, type TestServer } from '../support/postgres.ts';

const here = postgresForTests();
const patient = { timeout: 60_000, interval: 20 };
const pipeline = (nodes: string, path: string) => `digraph g {
  workdir="none"
  start [shape=Mdiamond]; exit [shape=Msquare]
  ${nodes}
  start -> ${path} -> exit
}`;
const files = {
  'ask.dot': pipeline('ask [shape=hexagon, label="Well?"]; no [shape=Msquare]; ask -> no [label=No]', 'ask'),
  // Its first node ends as soon as the file flag.RUN exists; both count their executions.
  'held.dot': pipeline(
    [
      'one [shape=parallelogram, tool_command="echo x >> $FLAG.$FACTORY_RUN_ID.one; while [ ! -e $FLAG.$FACTORY_RUN_ID ]; do sleep 0.05; done"]',
      'two [shape=parallelogram, tool_command="echo x >> $FLAG.$FACTORY_RUN_ID.two"]',
    ].join('\n'),
    'one -> two',
  ),
};

describe.skipIf(here.skipped !== '')(`keep with PostgreSQL${here.skipped}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPostgres(here.programs);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('runs outlive their worker and the database, and are answered, held, stopped and dropped', {
    timeout: 240_000,
  }, async () => {
    await using it = await home(files);
    symlinkSync(join(here.boss, 'node_modules'), join(it.path, 'node_modules'));
    const env = { FACTORY_DB: server.url('keep'), FLAG: join(it.path, 'flag') };
    const factory = async (...words: string[]) => {
      const { code, stdout, stderr } = await it.factory(words, { env });
      expect(code, `${words.join(' ')}: ${stdout}${stderr}`).toBe(0);
      return stdout;
    };
    const executions = async (node: string, id: string) =>
      (await it.read(`flag.${id}.${node}`)).trim().split('\n').length;
    const runs = (id: string, times: number) =>
      vi.waitFor(async () => expect(await executions('one', id)).toBe(times), patient);
    const finishNode = (id: string) => writeFileSync(`${env.FLAG}.${id}`, '');

    await factory('queue', '--migrate');
    for (const id of ['asks', 'a', 'b'])
      await factory('submit', id === 'asks' ? 'ask.dot' : 'held.dot', '--key', id);
    await using queue = await queueOf(it, env.FACTORY_DB);
    const first = await keeper(it, ['--slots', '2'], { env });
    await queue.until('asks', 'held question');
    expect(JSON.parse(await factory('answer', 'asks', '--choice', 'exit', '--json')).resumed).toBe('queued');
    await runs('a', 1);
    await runs('b', 1);

    // A worker is killed: its engines live, and another watches them.
    const second = await keeper(it, ['--slots', '3'], { env });
    const killed = performance.now();
    first.kill('SIGKILL');
    await second.said(/watches the engine of a run run=a/);
    await second.said(/watches the engine of a run run=b/);
    expect(performance.now() - killed).toBeLessThan(20_000);
    await queue.until('asks', 'gone');

    // The server is killed: a run ends meanwhile, and is executed once.
    await server.kill();
    await second.said(/does not answer/);
    finishNode('a');
    await vi.waitFor(
      () => expect(existsSync(join(it.path, '.factory/runs/a/result.json'))).toBe(true),
      patient,
    );
    await server.start();
    await second.said(/answers again/);
    await queue.until('a', 'gone');
    expect([await executions('one', 'a'), await executions('one', 'b')]).toEqual([1, 1]);

    await holdsStopsDrops(it);
    second.kill('SIGTERM');
    expect(await second.ended).toMatchObject({ code: 0 });
    for (const id of ['asks', 'a', 'b']) {
      await factory('verify', id);
      expect(await it.json(`.factory/runs/${id}/result.json`)).toMatchObject({ status: 'completed' });
    }

    async function holdsStopsDrops({ path }: Home) {
      // A run that is put on hold finishes its node, and continues behind it.
      const holding = factory('queue', 'hold', 'b');
      await vi.waitFor(
        () => expect(existsSync(join(path, '.factory/runs/b/stop-request.json'))).toBe(true),
        patient,
      );
      finishNode('b');
      await holding;
      await queue.until('b', 'held person');
      expect(existsSync(`${env.FLAG}.b.two`)).toBe(false);
      await factory('queue', 'move', 'b', '--now');
      await queue.until('b', 'gone');
      expect([await executions('one', 'b'), await executions('two', 'b')]).toEqual([1, 1]);

      // One that is stopped is held until it is moved; one that is dropped while it runs is stopped.
      await factory('submit', 'held.dot', '--key', 'c');
      await runs('c', 1);
      expect(await factory('stop', 'c')).toContain('interrupted');
      await queue.until('c', 'held stopped');
      await factory('queue', 'move', 'c', '--now');
      await runs('c', 2);
      await factory('queue', 'drop', 'c');
      await queue.until('c', 'gone');
      expect(await factory('show', 'c')).toContain('interrupted');
    }
  });
});
