/** Temporary folders: those of makers that have been killed go, and no others. */
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { expect, test } from 'vitest';
import {
  clearTemporaries,
  creatorTag,
  isAbandoned,
  makeTemporary,
  temporaryOf,
} from '../../../src/platform/files/temporary.ts';
import { temp } from '../temp.ts';

const ours = creatorTag();
const [here = '', , began = ''] = ours.split('.');
/** A process that has ended. */
const { pid } = spawnSync('true');
const gone = `${here}.${pid}.${began}`;
const hour = 60 * 60;

test('a maker has ended when there is no such process, or when another one has its number', async () => {
  await using it = await temp();
  const asked = (word: string) => isAbandoned(word, it.dir);
  expect(await asked(ours)).toBe(false);
  expect(await asked(gone)).toBe(true);
  expect(await asked(`${here}.${process.pid}.00000000`)).toBe(true);
});

test('of a maker elsewhere nothing is known but when it was at work last: a day without that is its end', async () => {
  await using it = await temp();
  const elsewhere = `00000000.${process.pid}.${began}`;
  const touched = Date.now() / 1000;
  utimesSync(it.dir, touched, touched);
  const after = (hours: number) => isAbandoned(elsewhere, it.dir, (touched + hours * hour) * 1000);
  expect([await after(0), await after(23), await after(25)]).toEqual([false, false, true]);
  expect(await isAbandoned(elsewhere, it.at('none'))).toBe(false);
});

test('what names no maker is nobody’s to judge', async () => {
  for (const word of ['', 'mine', `x${gone}`, `${gone}x`, `${here}.x.${began}`])
    expect(await isAbandoned(word, '/')).toBeUndefined();
});

test('those of the same kind whose makers have been killed go, with all that is in them', async () => {
  await using it = await temp();
  mkdirSync(it.at('foreign', 'x'), { recursive: true });
  mkdirSync(it.at(`kind-${gone}-abcdef`, 'x'), { recursive: true });
  for (const name of [
    `kind-${ours}-abcdef`,
    `kind-${gone}`,
    `kind-of-${gone}-abcdef`,
    `some-${gone}-abcdef`,
    `kind-${gone}-a-b`,
  ])
    mkdirSync(it.at(name));
  writeFileSync(it.at(`kind-${gone}-file`), '');
  symlinkSync('foreign', it.at(`kind-${gone}-link`));
  const stay = readdirSync(it.dir).filter((name) => name !== `kind-${gone}-abcdef`);
  const made = await makeTemporary(it.dir, 'kind');
  expect(made.startsWith(it.at(`kind-${ours}-`))).toBe(true);
  expect(readdirSync(it.dir).sort()).toEqual([...stay, basename(made)].sort());
  expect(readdirSync(it.at('foreign'))).toEqual(['x']);
  await clearTemporaries(it.at('none'), 'kind');
});

test.skipIf(process.getuid?.() !== 0)('those of other users stay', async () => {
  await using it = await temp();
  mkdirSync(it.at(`kind-${gone}-abcdef`));
  chownSync(it.at(`kind-${gone}-abcdef`), 65534, 65534);
  await clearTemporaries(it.dir, 'kind');
  expect(readdirSync(it.dir)).toEqual([`kind-${gone}-abcdef`]);
});

test('they lie where TMPDIR says, unless that is no folder', async () => {
  await using it = await temp();
  writeFileSync(it.at('file'), '');
  const named = [it.dir, it.at('none'), it.at('file'), it.at('file', 'x'), '', undefined];
  expect(named.map((TMPDIR) => temporaryOf({ TMPDIR }))).toEqual([it.dir, ...Array(5).fill('/tmp')]);
  // Not every caller is listed here.
  expect(temporaryOf({ TMPDIR: relative('.', it.dir) })).toBe(it.dir);
});
