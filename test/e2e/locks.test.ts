/** Each run has one owner: a second process is refused with the owner's name, and a former owner changes nothing. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { isAlive, isStopped, processId } from '../../src/platform/process/table.ts';
import { type Home, home } from '../support/cli.ts';

const linux = process.platform === 'linux';
const patient = { timeout: 30_000, interval: 5 };

/** Leaves processes in other sessions, groups and folders. */
const hide = `for name in a b; do
  setsid sh -c 'echo $$ > '"$1.$name"'; cd /; exec sleep 1000' >/dev/null 2>&1 </dev/null &
done
while ! [ -s "$1.a" ] || ! [ -s "$1.b" ]; do :; done
`;
const pidIn = (path: string) => Number(readFileSync(path, 'utf8'));
const lives = (pid: number) => {
  const id = processId(pid);
  return pid > 1 && id !== undefined && isAlive(id);
};

/** On its first execution node `two` hides two processes and waits. */
const pipeline = `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="echo one >> log.txt"]
  two [shape=parallelogram, tool_command="echo two >> log.txt; if mkdir $FLAG.d 2>/dev/null; then sh $FLAG.sh $FLAG; touch $FLAG; exec sleep 1000; fi; echo finished >> log.txt"]
  exit [shape=Msquare]
  start -> one -> two -> exit
}`;

/** Every file of the run with its content. */
const pictureOf = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((name) => {
        const path = join(dir, name);
        const is = statSync(path);
        const what = is.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'folder';
        return [name, `${what} ${is.mode} ${is.mtimeMs}`];
      }),
  );

/** A run in the middle of node `two`, with its process. */
async function underWay(it: Home) {
  const flag = join(it.path, 'flag');
  writeFileSync(`${flag}.sh`, hide);
  // The nodes leave files and processes outside of their workspace.
  const env = { FLAG: flag, FACTORY_SANDBOX: 'none' };
  let engine: { readonly pid: number; kill(signal: NodeJS.Signals): void } | undefined;
  const ran = it.factory(['run', 'p.dot', '--run-id', 'r1'], {
    env,
    watch: (_line, child) => {
      engine = child;
    },
  });
  await vi.waitFor(() => expect(existsSync(flag)).toBe(true), patient);
  if (engine === undefined) throw new Error('it has said nothing');
  return { env, ran, engine, hidden: [pidIn(`${flag}.a`), pidIn(`${flag}.b`)] };
}

test.skipIf(!linux)(
  'a run is taken over from a stopped process, which changes nothing and reports why when it continues',
  async () => {
    await using it = await home({ 'p.dot': pipeline });
    const { env, ran, engine, hidden } = await underWay(it);
    expect(hidden.map(lives)).toEqual([true, true]);
    const running = await it.factory(['resume', 'r1', '--take-over'], { env });
    expect(running.code).toBe(2);
    expect(running.stderr).toMatch(new RegExp(`owned by process ${engine.pid} on .*wait until it ends`));

    engine.kill('SIGSTOP');
    const id = processId(engine.pid);
    await vi.waitFor(() => expect(id !== undefined && isStopped(id)).toBe(true), patient);
    const refused = await it.factory(['resume', 'r1'], { env });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(new RegExp(`process is stopped.*kill -CONT ${engine.pid}`));
    expect(refused.stderr).toMatch(/at once with --take-over/);

    const taken = await it.factory(['run', 'p.dot', '--resume', '--run-id', 'r1', '--take-over'], { env });
    expect(taken.code, taken.stderr).toBe(0);
    expect(hidden.map(lives)).toEqual([false, false]);
    expect(await it.read('.factory/runs/r1/workspace/log.txt')).toBe('one\ntwo\nfinished\n');
    const before = pictureOf(join(it.path, '.factory'));
    engine.kill('SIGCONT');
    const old = await ran;
    expect(old.code, old.stderr).toBe(1);
    expect(old.stderr).toMatch(/error\[run-taken\]: .*taken over by process \d+ on /);
    expect(old.stderr).toMatch(/fix: node \S.+cli\.js'? runs tells/);
    expect(pictureOf(join(it.path, '.factory'))).toEqual(before);
  },
);

test.skipIf(!linux)(
  'of four resumes of a killed run one continues and the others name it; no hidden process survives',
  async () => {
    await using it = await home({
      'p.dot': pipeline.replace(
        'echo finished',
        `while ! [ -e $FLAG.go ]; do sleep 0.05; done; sh $FLAG.sh $FLAG.2; echo finished`,
      ),
    });
    const { env, ran, engine, hidden } = await underWay(it);
    engine.kill('SIGKILL');
    await ran;
    expect(hidden.map(lives)).toEqual([true, true]);
    let over = 0;
    const all = Array.from({ length: 4 }, async () => {
      const one = await it.factory(['resume', 'r1'], { env });
      over += 1;
      if (over === 3) writeFileSync(`${env.FLAG}.go`, '');
      return one;
    });
    const ended = await Promise.all(all);
    expect(ended.map(({ code }) => code).sort()).toEqual([0, 2, 2, 2]);
    const winner = readdirSync(join(it.path, '.factory/runs/r1/lock')).sort().at(-1);
    expect(winner).toBe('000002.json');
    const { pid } = JSON.parse(await it.read('.factory/runs/r1/lock/000002.json'));
    for (const { code, stderr } of ended)
      if (code === 2) expect(stderr).toContain(`this run is owned by process ${pid} on `);
    expect(await it.read('.factory/runs/r1/workspace/log.txt')).toBe('one\ntwo\nfinished\n');
    const later = [pidIn(`${env.FLAG}.2.a`), pidIn(`${env.FLAG}.2.b`)];
    expect([...hidden, ...later].map(lives)).toEqual([false, false, false, false]);
  },
);

test('a run whose owner is on another host can be taken over after a missed heartbeat, or with --take-over', async () => {
  await using it = await home({ 'p.dot': pipeline });
  const env = {
    ATTRACTION_TEST_STOP_AFTER_NODE: 'one',
    FLAG: join(it.path, 'flag'),
    FACTORY_SANDBOX: 'none',
  };
  mkdirSync(`${env.FLAG}.d`);
  await it.factory(['run', 'p.dot', '--run-id', 'r1'], { env });
  const path = join(it.path, '.factory/runs/r1/lock/000001.json');
  const lock = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...lock, host: 'elsewhere', released: null }));
  const refused = await it.factory(['resume', 'r1'], { env });
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/on elsewhere since .*cannot be seen from here.*silent for 60 s/);
  const taken = await it.factory(['resume', 'r1', '--take-over'], {
    env: { FLAG: env.FLAG, FACTORY_SANDBOX: 'none' },
  });
  expect(taken.code, taken.stderr).toBe(0);
  expect(taken.stderr).toContain('took the run over: its previous owner missed its heartbeat');
  const unasked = await it.factory(['run', 'p.dot', '--take-over'], { env });
  expect(unasked.code).toBe(2);
  expect(unasked.stderr).toContain('--take-over goes with --resume');
});
