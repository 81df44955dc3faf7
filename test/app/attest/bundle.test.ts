/** A file of attestations is verified as it was written, or not at all; by factory and by the program in the package alike. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifyBundle } from '../../../src/app/attest/bundle.ts';
import { signEnvelope } from '../../../src/app/attest/envelope.ts';
import { temp } from '../../platform/temp.ts';
import { root } from '../../support/cli.ts';
import { bundleCases, keyPair, runStatement, testStatement, verifyingKey } from './bundles.ts';

const { key, pem } = keyPair();
const cases = bundleCases(key, keyPair().key);

test.for(cases)('$title: factory decides as the table says', ({ text, holds, others }) => {
  const found = verifyBundle(Buffer.from(text), verifyingKey(pem));
  expect({ holds: found.attested !== undefined, others: found.others.map(({ line }) => line) }).toEqual({
    holds,
    others,
  });
  expect(found.problems.length > 0).toBe(!holds);
});

/** The exit code and the output of the program, in a thread: a process for each file would take seconds. */
async function decidedBy(program: string, argv: readonly string[]) {
  const worker = new Worker(program, { argv: [...argv], stdout: true });
  let stdout = '';
  worker.stdout.on('data', (piece) => {
    stdout += piece;
  });
  const [code] = await once(worker, 'exit');
  return { code: code as number, stdout };
}

test('the program in the package decides as the table says', async () => {
  await using it = await temp();
  writeFileSync(it.at('pub.pem'), pem);
  const decided: { title: string; code: number; others: number[] }[] = [];
  for (const { title, text } of cases) {
    writeFileSync(it.at('bundle'), text);
    const program = join(root, 'verify/attestation.mjs');
    const { code, stdout } = await decidedBy(program, [it.at('bundle'), it.at('pub.pem')]);
    const others = [...stdout.matchAll(/^line (\d+) decides nothing/gm)].map(([, line]) => Number(line));
    decided.push({ title, code, others });
  }
  expect(decided).toEqual(cases.map(({ title, holds, others }) => ({ title, code: holds ? 0 : 1, others })));
});

test('no file with one other bit is accepted', () => {
  const tests = testStatement();
  const good = Buffer.from([runStatement(tests), tests].map((one) => `${signEnvelope(one, key)}\n`).join(''));
  const verifier = verifyingKey(pem);
  expect(verifyBundle(good, verifier).attested).toBeDefined();
  fc.assert(
    fc.property(fc.nat(good.length * 8 - 1), (bit) => {
      const changed = Buffer.from(good);
      const at = bit >> 3;
      changed[at] = (changed[at] ?? 0) ^ (1 << (bit & 7));
      return verifyBundle(changed, verifier).attested === undefined;
    }),
    { numRuns: 300 },
  );
});
