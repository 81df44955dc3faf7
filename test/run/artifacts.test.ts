/** Hashes of the files in a node directory: every file is hashed or skipped. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/core/sha256.ts';
import { hashArtifact, hashArtifacts } from '../../src/run/artifacts.ts';
import { temp } from '../platform/temp.ts';

test('folders deeper than the path limit are skipped, and so is a name that no record can contain', async () => {
  await using it = await temp();
  mkdirSync(it.at('sub'));
  writeFileSync(it.at('sub/a'), 'a');
  writeFileSync(it.at('__proto__'), 'x');
  const deeper = 'n=$(printf "a%.0s" $(seq 200)); while mkdir $n && cd $n 2>&-; do :; done';
  execFileSync('sh', ['-c', deeper], { cwd: it.dir });
  const hashed = await hashArtifacts(it.dir);
  // Node cannot remove them either.
  execFileSync('rm', ['-rf', it.dir]);
  expect(hashed).toEqual({ hashes: { 'sub/a': sha256('a') }, more: 0 });
});

test('links and pipes have no hash, and are neither followed nor read', async () => {
  await using it = await temp();
  writeFileSync(it.at('a'), 'a');
  symlinkSync('a', it.at('link'));
  execFileSync('mkfifo', [it.at('pipe')]);
  mkdirSync(it.at('folder'));
  const hashes = await Promise.all(
    ['a', 'link', 'pipe', 'folder', 'none'].map((name) => hashArtifact(it.at(name))),
  );
  expect(hashes).toEqual([sha256('a'), ...Array(4).fill(undefined)]);
});

test('of very many files 2,000 are hashed, and the others are counted', async () => {
  await using it = await temp();
  for (let n = 0; n < 2003; n++) writeFileSync(it.at(`f${n}`), '');
  const { hashes, more } = await hashArtifacts(it.dir);
  expect([Object.keys(hashes).length, more]).toEqual([2000, 3]);
});
