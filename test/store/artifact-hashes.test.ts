/** What lies in a node's folder: whatever a stage leaves there, it is hashed or passed over. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/model/sha256.ts';
import { hashArtifacts } from '../../src/store/artifact-hashes.ts';
import { temp } from '../system/temp.ts';

test('folders deeper than a path reaches are passed over, and so is a name that no record can hold', async () => {
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
