/** Verifies a file of attestations. `verify/attestation.mjs` decides the same by itself; a test holds both, and a third program, to one
 *  table of good and bad files. */
import { sha256 } from '../../core/sha256.ts';
import { envelopeIn, isSignedBy } from './envelope.ts';
import type { AttestationKey } from './keys.ts';
import { type RunPredicate, runPredicateSchema, statedRunSchema } from './predicate.ts';
import {
  type AttestedProduct,
  productIn,
  runPredicateType,
  type Statement,
  statementIn,
  testResultType,
} from './statement.ts';

export type VerifiedBundle = {
  /** Undefined unless all holds. */
  readonly attested: AttestedBundle | undefined;
  /** Why it does not hold. */
  readonly problems: readonly string[];
  /** Lines that decide nothing, each with the reason. */
  readonly others: readonly { readonly line: number; readonly why: string }[];
};

export type AttestedBundle = {
  readonly product: AttestedProduct;
  readonly runId: string;
  /** What was signed, and the same in the form of this version: undefined if a later version has written it. */
  readonly predicate: unknown;
  readonly read: RunPredicate | undefined;
  readonly testResult: unknown;
};

type Signed = Statement & { readonly sha256: string };

/** A statement about the run and, if that names one, one about its tests, each once and signed by this key. */
export function verifyBundle(bytes: Buffer, key: AttestationKey): VerifiedBundle {
  const others: { line: number; why: string }[] = [];
  const found = new Map<string, Signed[]>([
    [runPredicateType, []],
    [testResultType, []],
  ]);
  for (const [at, line] of linesOf(bytes).entries()) {
    const read = signedStatement(line, key);
    const of = 'why' in read ? undefined : found.get(read.predicateType);
    if (!('why' in read)) of?.push(read);
    if (of === undefined)
      others.push({ line: at + 1, why: 'why' in read ? read.why : 'a statement of another type' });
  }
  const read = oneRun(found.get(runPredicateType) ?? [], found.get(testResultType) ?? []);
  return Array.isArray(read)
    ? { attested: undefined, problems: read, others }
    : { attested: read, problems: [], others };
}

/** The fingerprints that name themselves as signers; nothing is verified. */
export const claimedSigners = (bytes: Buffer): readonly string[] => [
  ...new Set(
    linesOf(bytes).flatMap((line) => {
      const envelope = envelopeIn(line);
      const type = envelope && statementIn(envelope.payload)?.predicateType;
      return envelope !== undefined && type === runPredicateType ? [envelope.keyid] : [];
    }),
  ),
];

/** Without the empty end after the last line feed. */
function linesOf(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const to = bytes.indexOf(0x0a, from);
    const end = to === -1 ? bytes.length : to;
    lines.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return lines;
}

function signedStatement(line: Buffer, key: AttestationKey): Signed | { readonly why: string } {
  const envelope = envelopeIn(line);
  if (envelope === undefined) return { why: 'no envelope as factory writes it' };
  if (envelope.keyid !== key.fingerprint) return { why: `names another key: ${envelope.keyid}` };
  if (!isSignedBy(envelope, key)) return { why: 'its signature is wrong' };
  const statement = statementIn(envelope.payload);
  return statement === undefined
    ? { why: 'no statement of in-toto' }
    : { ...statement, sha256: sha256(envelope.payload) };
}

/** What the two statements say, or why they are not what a run has. */
function oneRun(runs: readonly Signed[], tests: readonly Signed[]): AttestedBundle | string[] {
  const [run] = runs;
  if (run === undefined) return ['no statement about a run by this key'];
  if (runs.length > 1) return [`${runs.length} statements about runs by this key: one is expected`];
  const product = productIn(run.subject);
  const stated = statedRunSchema().safeParse(run.predicate);
  if (product === undefined || !stated.success) return ['the statement about the run has another form'];
  const [test] = tests;
  const wrong = testsProblem(stated.data.test_result, tests, product);
  if (wrong !== undefined) return [wrong];
  const { predicate } = run;
  const read = runPredicateSchema().safeParse(predicate).data;
  return { product, runId: stated.data.run.id, predicate, read, testResult: test?.predicate };
}

/** `named`: the statement about tests that the run has. */
function testsProblem(
  named: RunPredicate['test_result'],
  tests: readonly Signed[],
  { commit, tree }: AttestedProduct,
): string | undefined {
  const expected = named === null ? 0 : 1;
  if (tests.length !== expected)
    return `${tests.length} statements about tests by this key: ${expected === 0 ? 'none' : 'one'} is expected`;
  const [test] = tests;
  if (test === undefined) return undefined;
  if (test.sha256 !== named?.sha256) return 'the statement about the tests is that of another run';
  const tested = productIn(test.subject);
  return tested?.commit === commit && tested.tree === tree
    ? undefined
    : 'the two statements are about different commits or trees';
}
