/** `factory verify FILE`: whether a signer has attested a run, unchanged. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  type AttestedBundle,
  claimedSigners,
  type VerifiedBundle,
  verifyBundle,
} from '../app/attest/bundle.ts';
import { productDifferences } from '../app/attest/compare-repo.ts';
import { verifyingKeyIn } from '../app/attest/keys.ts';
import { readFailure } from '../platform/files/write.ts';
import { invocationOf } from './arguments.ts';
import { readKey } from './attest.ts';
import { usage } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { attestedRows } from './report/attestation.ts';
import { oneLine, painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';
import type { VerifyOptions } from './verify.ts';

/** Answers 0 where the owner of `--key` has signed the unchanged file, and `--repo` has what was signed; else 1. */
export async function verifyFile(
  file: string,
  { key: keyFile, ...options }: VerifyOptions,
  io: Pick<CliIo, 'called' | 'cwd' | 'env' | 'out' | 'outIsTerminal'>,
): Promise<VerbResult> {
  const bytes = await readFile(resolve(io.cwd, file)).catch((error: unknown) => readFailure(error));
  if (typeof bytes === 'string')
    return usage(`${file}: ${bytes}`, 'name a file that factory attest has written');
  if (keyFile === undefined) return unknownSigner(claimedSigners(bytes), file, options, io);
  const key = await readKey(keyFile, verifyingKeyIn, io);
  if ('problems' in key) return key;
  const verified = verifyBundle(bytes, key);
  const differences = await repoDifferences(verified.attested, options, io);
  const problems = [...verified.problems, ...differences];
  const code = problems.length === 0 ? 0 : 1;
  const found = { ...verified, problems, signer: key.fingerprint };
  if (options.json === true) io.out(`${JSON.stringify(reportJson(found, code), null, 2)}\n`);
  else io.out(`${words(found, painter(paints(io, io.outIsTerminal, options.color))).join('\n')}\n`);
  return code;
}

type Found = VerifiedBundle & { readonly signer: string };

async function repoDifferences(
  attested: AttestedBundle | undefined,
  { repo, branch }: VerifyOptions,
  io: Pick<CliIo, 'cwd' | 'env'>,
): Promise<readonly string[]> {
  if (attested === undefined || repo === undefined) return [];
  const revision = branch === undefined ? 'HEAD' : `refs/heads/${branch}`;
  return productDifferences(attested.product, { repo: resolve(io.cwd, repo), revision }, io.env);
}

/** Anybody can name a signer: without the key nothing is known. */
function unknownSigner(
  signers: readonly string[],
  file: string,
  { json, color }: VerifyOptions,
  io: Pick<CliIo, 'called' | 'env' | 'out' | 'outIsTerminal'>,
): number {
  const problems =
    signers.length === 0
      ? [`${file} has no attestation of a run`]
      : signers.map((one) => `signed by ${one}, not verified`);
  if (json === true) {
    const report = { schema_version: 1, status: 'not_verified', exit_code: 1, signer: null };
    io.out(`${JSON.stringify({ ...report, claimed_signers: signers, problems, others: [] }, null, 2)}\n`);
    return 1;
  }
  const paint = painter(paints(io, io.outIsTerminal, color));
  const lines = problems.map((one) => paint.red(`✗ ${oneLine(one, 300)}`));
  const fix = 'next: get the public key of the signer in another way: factory verify FILE --key PUBLIC';
  const next = signers.length === 0 ? [] : [invocationOf(fix, io.called?.program)];
  io.out(`${[...lines, ...next].join('\n')}\n`);
  return 1;
}

function reportJson({ attested, problems, others, signer }: Found, code: number) {
  const status = code === 0 ? 'verified' : 'not_verified';
  return {
    ...{ schema_version: 1, status, exit_code: code, signer, problems, others },
    run_id: attested?.runId ?? null,
    subject: attested?.product ?? null,
    predicate: attested?.predicate ?? null,
    test_result: attested?.testResult ?? null,
  };
}

function words(
  { attested, problems, others, signer }: Found,
  paint: ReturnType<typeof painter>,
): readonly string[] {
  const lines = others.map(
    ({ line, why }) =>
      `  ${paint.dim('other'.padEnd(11))} line ${line} decides nothing: ${oneLine(why, 200)}`,
  );
  const wrong = problems.map((one) => paint.red(`✗ not verified: ${oneLine(one, 300)}`));
  if (attested === undefined) return [...wrong, `  ${paint.dim('key'.padEnd(11))} ${signer}`, ...lines];
  const { product, runId, read, testResult } = attested;
  const result = resultIn(testResult);
  const holds = paint.green(
    `✓ verified: run ${oneLine(runId, 80)}${read === undefined ? '' : `, ${read.run.status}`}`,
  );
  return [
    ...(problems.length === 0 ? [holds] : wrong),
    ...(read === undefined
      ? [`  a later version has signed more than this one reads (--json): tree ${product.tree}`]
      : attestedRows({ ...product, predicate: read, result }, signer, paint)),
    ...lines,
    ...(problems.length === 0 ? ['the signer says this; whether it is true is another question'] : []),
  ];
}

const resultIn = (testResult: unknown): string | undefined =>
  typeof testResult === 'object' && testResult !== null && 'result' in testResult
    ? String(testResult.result)
    : undefined;
