/** The brand: who bears it, and that nothing fails where it cannot be had; the descendants of a stage are then known by
 *  less. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { afterEach, expect, it, vi } from 'vitest';
import { brandFor, brandOf, brandOn, brandOurselves } from '../../src/system/brand.ts';
import { realSpawn } from '../../src/system/processes.ts';
import { temp } from './temp.ts';

afterEach(() => vi.unstubAllEnvs());

const brand = brandOf('factory_run=x', 1);

it('does without where there is no program that sets it', async () => {
  await using it = await temp();
  vi.stubEnv('PATH', it.dir);
  expect(await brandOurselves(brand)).toBe(false);
});

it('does without where something else has the name of that program', async () => {
  await using it = await temp();
  mkdirSync(it.at('prlimit'));
  vi.stubEnv('PATH', it.dir);
  expect(await brandOurselves(brand)).toBe(false);
});

it('does without where the program cannot be looked for, which Node throws at once', async () => {
  await using it = await temp();
  symlinkSync('round', it.at('round'));
  vi.stubEnv('PATH', it.at('round'));
  expect(await brandOurselves(brand)).toBe(false);
});

const prlimit = (() => {
  try {
    return execFileSync('sh', ['-c', 'command -v prlimit'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
})();

it.skipIf(prlimit === undefined)(
  'is given to a stage alone where the process has more to do',
  async (context) => {
    await using it = await temp();
    const given = await brandFor(brand, { own: false, by: prlimit });
    if (given === undefined) return context.skip('no process can be branded here');
    const before = brandOn(process.pid);
    const run = (...argv: [string, ...string[]]) =>
      realSpawn.run({
        argv,
        cwd: it.dir,
        env: { PATH: process.env['PATH'] ?? '' },
        stdoutFile: it.at('out'),
        stderrFile: it.at('err'),
        brand: given,
      });
    for (const words of ['cat /proc/self/limits', 'sh -c "cat /proc/$$/limits"']) {
      expect(await run('sh', '-c', words)).toEqual({ kind: 'exited', code: 0 });
      expect(readFileSync(it.at('out'), 'utf8')).toContain(` ${brand} `);
    }
    expect(brandOn(process.pid)).toBe(before);
    // What is not there is told as it is without the brand.
    for (const name of ['no-such-program', './none', it.dir])
      expect(await run(name)).toMatchObject({ kind: 'not_found', program: name });
    expect(readFileSync(it.at('err'), 'utf8')).toBe('');
  },
);

it('is given to nobody where nothing can give it', async () => {
  await using it = await temp();
  for (const by of [undefined, it.at('none'), it.dir, '/bin/true'])
    expect(await brandFor(brand, { own: false, by })).toBeUndefined();
});
