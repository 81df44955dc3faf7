/** Another implementation of Ed25519 and JSON decides as factory does: `.ci/run` names a Python that has `cryptography`. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temp } from '../../platform/temp.ts';
import { bundleCases, keyPair } from './bundles.ts';

const python = process.env['FACTORY_TEST_CRYPTOGRAPHY'];

test.skipIf(python === undefined)("Python's cryptography decides as the table says", async () => {
  await using it = await temp();
  const { key, pem } = keyPair();
  const cases = bundleCases(key, keyPair().key);
  writeFileSync(it.at('pub.pem'), pem);
  const files = cases.map(({ text }, at) => {
    writeFileSync(it.at(`${at}`), text);
    return it.at(`${at}`);
  });
  const script = join(import.meta.dirname, 'verify_bundles.py');
  const { stdout, stderr } = spawnSync(python ?? '', ['-I', script, it.at('pub.pem'), ...files], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const decided = stdout
    .trimEnd()
    .split('\n')
    .map((line, at) => ({ title: cases[at]?.title, ...JSON.parse(line) }));
  expect(decided).toEqual(cases.map(({ title, holds, others }) => ({ title, holds, others })));
});
