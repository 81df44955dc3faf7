/** The brand where it cannot be had: the descendants of a stage are then known by less, and nothing fails for it. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { afterEach, expect, it, vi } from 'vitest';
import { brandOf, brandOurselves } from '../../src/system/brand.ts';
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
