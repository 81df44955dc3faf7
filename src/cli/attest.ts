/** `factory attest`: one file by which others can check what a run has made, without its directory. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Attestation, attestRun } from '../app/attest/attest-run.ts';
import { type AttestationKey, signingKeyIn } from '../app/attest/keys.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { quoteWord } from '../core/policy/words.ts';
import { readFailure } from '../platform/files/write.ts';
import { openRun, type StoredRun } from '../run/open-run.ts';
import type { Verified } from '../verify/index.ts';
import { findNamed, type NamedRun, usage } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { writeOutput } from './output.ts';
import { attestedRows } from './report/attestation.ts';
import { painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';
import { printVerified, verifyNamed } from './verify.ts';

export type AttestOptions = {
  readonly key: string;
  readonly output: string;
  readonly runsdir?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Signs what a run has recorded; a run that was changed or is running is not signed. */
export async function attestCommand(run: string, options: AttestOptions, io: CliIo): Promise<VerbResult> {
  const key = await readKey(options.key, signingKeyIn, io);
  if ('problems' in key) return key;
  const held = await heldRun(run, options, { code: 'attest', undone: 'nothing was signed' }, io);
  if ('problems' in held) return held;
  const { named, stored, verified } = held;
  const made = await attestRun(named.dir, stored, verified, key, io.env);
  if ('problems' in made) return made;
  const inputs = [named.dir, resolve(io.cwd, options.key)];
  const to = await writeOutput(options.output, made.text, { inputs }, io.cwd);
  if (typeof to === 'object') return to;
  // A stream has the file alone.
  print(made, key, options, to === 'file' ? io.out : io.err, io);
  return 0;
}

/** A run whose records hold: what is verified is what was read. `undone`: what a refusal says was not done. */
export async function heldRun(
  run: string,
  options: Pick<AttestOptions, 'runsdir' | 'color'>,
  { code, undone }: { readonly code: string; readonly undone: string },
  io: CliIo,
): Promise<{ named: NamedRun; stored: StoredRun; verified: Verified } | Refusal> {
  const named = await findNamed(run, options, io);
  if ('problems' in named) return named;
  const stored = await openRun(named.dir).stored();
  const read = 'problems' in stored ? {} : { chain: stored.history.whole.sha256 };
  const found = await verifyNamed(run, options, read, io);
  if ('problems' in found) return found;
  const { verified } = found;
  if (verified.problems.length > 0) {
    printVerified(verified, named, { ...options, json: false }, io);
    return refused(code, `the records of the run do not hold: ${undone}`, undefined, 1);
  }
  return 'problems' in stored ? stored : { named, stored, verified };
}

/** The key in the file of `--key`. */
export async function readKey(
  file: string,
  keyIn: typeof signingKeyIn,
  { cwd }: Pick<CliIo, 'cwd'>,
): Promise<AttestationKey | Refusal> {
  try {
    const key = keyIn(await readFile(resolve(cwd, file), 'utf8'));
    return 'why' in key ? usage(`--key ${file}: ${key.why}`, key.fix) : key;
  } catch (error) {
    return usage(`--key ${file}: ${readFailure(error)}`, 'name the file of the key');
  }
}

function print(
  { product, predicate, result, suiteKey }: Attestation,
  { fingerprint }: AttestationKey,
  { output, json, color }: AttestOptions,
  say: (text: string) => void,
  io: CliIo,
): void {
  if (json === true) {
    const signed = {
      run_id: predicate.run.id,
      status: predicate.run.status,
      file: output,
      signer: fingerprint,
    };
    const about = { ...product, result: result ?? null, suite_key: suiteKey };
    say(
      `${JSON.stringify({ schema_version: 1, ...signed, ...about, not_checked: predicate.not_checked }, null, 2)}\n`,
    );
    return;
  }
  const paint = painter(paints(io, io.outIsTerminal, color));
  const rows = [
    paint.green(`✓ signed: run ${predicate.run.id}, ${predicate.run.status}`),
    ...attestedRows({ ...product, predicate, result }, fingerprint, paint),
    ...(suiteKey === null
      ? []
      : [
          `  ${paint.dim('suite key'.padEnd(11))} ${suiteKey}`,
          '              keep it: it shows which suite has judged, and is not in the file',
        ]),
    `next: ${io.called?.program ?? 'factory'} verify ${quoteWord(output)} --key PUBLIC`,
  ];
  say(`${rows.join('\n')}\n`);
}
