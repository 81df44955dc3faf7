/** What the side of a scenario makes of what the broker says, which a product can say too. */
import fs, { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { callerEnd, launchEnd } from '../../src/platform/embedded/launch.ts';
import { badLink } from '../../src/platform/embedded/links.ts';
import { temp } from './temp.ts';

test.each(['null', 'true', '1', '"x"', 'garbage', '{"code":'])(
  'a broker that says %s has said no end',
  async (line) => {
    const control = new PassThrough();
    const end = launchEnd(control as unknown as Socket);
    control.end(`${line}\n`);
    expect(await end).toBeUndefined();
  },
);

test.each([
  [{ out: '/proc/self/fd/3' }, true],
  [{ out: '/dev/fd/../root/proc/self/fd/3' }, true],
  [{ out: '/dev/fd/../cwd/wanted' }, true],
  [{ out: '/usr/../dev/fd/../cwd/wanted' }, true],
  [{ out: 'd/fd/3', d: '/dev' }, true],
  [{ out: 'a/self/fd/3', a: 'b/proc', b: '/' }, true],
  [{ out: 'gone', env: '/usr/bin/env', log: '/dev/stdout', loop: 'loop', sub: 'env/..', up: '..' }, false],
])('links %j lead to the files of the scenario: %s', async (links, isAstray) => {
  await using it = await temp();
  const places = { socket: it.dir, app: it.at('app'), temporary: it.at('tmp'), marks: it.dir, hidden: [] };
  for (const made of [places.app, places.temporary]) mkdirSync(made);
  for (const [name, to] of Object.entries(links)) symlinkSync(to, it.at('tmp', name));
  for (const end of [{ code: 0, signal: null, consumed: 0 }, { failed: 'EACCES' }])
    callerEnd(end, 'x', places);
  const marked = (): string => readFileSync(it.at('links'), 'utf8');
  if (isAstray) expect(marked()).toContain(' -> ');
  else expect(marked).toThrow('ENOENT');
});

const placesIn = (it: Awaited<ReturnType<typeof temp>>) => {
  const places = { app: it.at('app'), temporary: it.at('tmp'), hidden: [] };
  for (const made of [places.app, places.temporary, it.at('app', 'sub')]) mkdirSync(made);
  return places;
};

test('a link is found among very many files', async () => {
  await using it = await temp();
  const places = placesIn(it);
  for (let each = 0; each < 20_010; each += 1) writeFileSync(it.at('app', `f${each}`), '');
  symlinkSync('/usr/bin/env', it.at('app', 'sub', 'env'));
  expect(badLink(places)).toBeUndefined();
  symlinkSync('/proc/self/fd/3', it.at('tmp', 'out'));
  expect(badLink(places)).toContain('out -> /proc/self/fd/3');
  rmSync(it.at('tmp', 'out'));
  expect(badLink(places)).toBeUndefined();
  symlinkSync('/proc/self/fd/3', it.at('app', 'sub', 'out'));
  expect(badLink(places)).toContain('out -> /proc/self/fd/3');
});

test('the way of a link is followed again although its folder is not read again', async () => {
  await using it = await temp();
  const places = placesIn(it);
  symlinkSync('../../d/fd/3', it.at('app', 'sub', 'far'));
  // As if the folders had not changed for some time.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  const read = vi.spyOn(fs, 'readdirSync');
  try {
    expect(badLink(places)).toBeUndefined();
    expect(read).toHaveBeenCalledTimes(3);
    expect(badLink(places)).toBeUndefined();
    expect(read).toHaveBeenCalledTimes(3);
    symlinkSync('/dev', it.at('d'));
    expect(badLink(places)).toContain('far -> ');
    expect(read).toHaveBeenCalledTimes(3);
  } finally {
    read.mockRestore();
    vi.useRealTimers();
  }
});
