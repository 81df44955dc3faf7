/** `factory runs --watch`, on a terminal that a test reads and a clock that it moves. */
import { expect, test } from 'vitest';
import { handClock } from '../support/clock.ts';
import { house } from '../support/house.ts';
import { call } from '../support/verb.ts';

const pipeline = `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }`;

test('--watch draws the table again only when it has changed, as much of it as the terminal has room for', async () => {
  await using it = await house({ 'g.dot': pipeline });
  await it.run('g.dot', { runId: 'one', quiet: true });
  const [clock, stop] = [handClock(0), new AbortController()];
  const drawn: string[] = [];
  const host = { cwd: it.path, env: {}, clock, errIsTerminal: true, signal: () => stop.signal };
  const ended = call(['runs'], { watch: true, color: false }, { ...host, width: 200, height: 5 }, (text) =>
    drawn.push(text),
  );
  await clock.waiting(1);
  for (const name of ['', 'two', 'three']) {
    if (name !== '') await it.run('g.dot', { runId: name, quiet: true });
    clock.advance(1000);
    await clock.waiting(1);
  }
  stop.abort();
  expect((await ended).code).toBe(130);
  expect(drawn).toHaveLength(4);
  expect(drawn[0]).toMatch(/^run .*\none .*$/);
  expect(drawn[1]).toContain('2 runs: none needs attention, 2 completed');
  expect(drawn[2]?.split('\n')).toHaveLength(4);
  expect(drawn[2]).toMatch(/3 runs: .*\n… 2 more runs$/);
  expect(drawn[3]).toBe('\n');
});

test('without a terminal --watch is refused, with what to do', async () => {
  await using it = await house({});
  const { code, out, err } = await call(['runs'], { watch: true }, { cwd: it.path, env: {} });
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('leave --watch out');
});
