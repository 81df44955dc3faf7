/** Files of attestations, good and bad: every program that verifies them has to decide the same. */
import { generateKeyPairSync } from 'node:crypto';
import { signEnvelope } from '../../../src/app/attest/envelope.ts';
import { type AttestationKey, signingKeyIn, verifyingKeyIn } from '../../../src/app/attest/keys.ts';
import {
  runPredicateType,
  statementText,
  subjectsOf,
  testResultType,
} from '../../../src/app/attest/statement.ts';
import { sha256 } from '../../../src/core/sha256.ts';

/** A fresh key: the private one, and the PEM of the public one. */
export function keyPair(): { readonly key: AttestationKey; readonly pem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const key = signingKeyIn(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  if ('why' in key) throw new Error(key.why);
  return { key, pem: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
}

export const verifyingKey = (pem: string): AttestationKey => {
  const key = verifyingKeyIn(pem);
  if ('why' in key) throw new Error(key.why);
  return key;
};

const product = { commit: 'c'.repeat(40), tree: 'd'.repeat(40) };
const subject = subjectsOf(product);

export const testStatement = (of: unknown = subject, result = 'PASSED'): string =>
  statementText({
    predicateType: testResultType,
    subject: of,
    predicate: { result, configuration: [], passedTests: ['npm test — ✓'] },
  });

export const runStatement = (tests: string | null, more: object = {}, of: unknown = subject): string =>
  statementText({
    predicateType: runPredicateType,
    subject: of,
    predicate: {
      schema_version: 1,
      run: { id: 'run-1', status: 'completed' },
      test_result: tests === null ? null : { sha256: sha256(tests) },
      ...more,
    },
  });

export type BundleCase = {
  readonly title: string;
  readonly text: string | Buffer;
  /** Whether it is verified, and the lines that decide nothing. */
  readonly holds: boolean;
  readonly others: readonly number[];
};

/** The table, signed by `key`; `stranger` is somebody else's. */
export function bundleCases(key: AttestationKey, stranger: AttestationKey): readonly BundleCase[] {
  const by = (statement: string, who = key): string => signEnvelope(statement, who);
  const lines = (...all: readonly string[]): string => all.map((line) => `${line}\n`).join('');
  const tests = testStatement();
  const [run, test] = [by(runStatement(tests)), by(tests)];
  const whole = lines(run, test);
  const yes = (title: string, text: string | Buffer, ...others: number[]) => ({
    title,
    text,
    holds: true,
    others,
  });
  const no = (title: string, text: string | Buffer, ...others: number[]) => ({
    title,
    text,
    holds: false,
    others,
  });
  const spelled = (change: (envelope: Envelope) => object | string): string => {
    const changed = change(JSON.parse(run) as Envelope);
    return lines(typeof changed === 'string' ? changed : JSON.stringify(changed), test);
  };
  const about = (of: unknown): string => {
    const inner = testStatement(of);
    return lines(by(runStatement(inner, {}, of)), by(inner));
  };
  return [
    yes('both statements', whole),
    yes('both in the other order', lines(test, run)),
    yes('without the last line feed', whole.slice(0, -1)),
    yes('a run that was not checked', lines(by(runStatement(null)))),
    yes('a tree without a commit', about([{ digest: { gitTree: 'd'.repeat(64) } }])),
    yes('fields that a later version adds', lines(by(runStatement(tests, { later: [1] })), test)),
    yes('lines of others', lines('# hello', run, test, by(runStatement(null), stranger), ''), 1, 4, 5),
    yes(
      'a statement of another type',
      lines(run, test, by(statementText({ predicateType: 'x', subject, predicate: 1 }))),
      3,
    ),
    no('nothing', ''),
    no('a line feed', '\n', 1),
    no('no statement about tests', lines(run)),
    no('no statement about the run', lines(test)),
    no('the run twice', lines(run, run, test)),
    no('the tests twice', lines(run, test, test)),
    no('two runs', lines(run, test, by(runStatement(null)))),
    no('tests that the run does not name', lines(by(runStatement(null)), test)),
    no('tests of another run', lines(run, by(testStatement(subject, 'FAILED')))),
    no('by somebody else', lines(by(runStatement(tests), stranger), by(tests, stranger)), 1, 2),
    no('the run by somebody else', lines(by(runStatement(tests), stranger), test), 1),
    no('the tests by somebody else', lines(run, by(tests, stranger)), 2),
    no(
      'another key id',
      spelled((one) => ({ ...one, signatures: [{ ...one.signatures[0], keyid: stranger.fingerprint }] })),
      1,
    ),
    no(
      'no key id',
      spelled((one) => ({ ...one, signatures: [{ sig: one.signatures[0]?.sig }] })),
      1,
    ),
    no(
      'no signature',
      spelled((one) => ({ ...one, signatures: [] })),
      1,
    ),
    no(
      'two signatures',
      spelled((one) => ({ ...one, signatures: [...one.signatures, ...one.signatures] })),
      1,
    ),
    no(
      'the signature of the other line',
      spelled((one) => ({ ...one, signatures: (JSON.parse(test) as Envelope).signatures })),
      1,
    ),
    no(
      'an empty signature',
      spelled((one) => ({ ...one, signatures: [{ ...one.signatures[0], sig: '' }] })),
      1,
    ),
    no(
      'a blank in the JSON',
      spelled((one) => JSON.stringify(one).replace(',', ', ')),
      1,
    ),
    no(
      'a blank after the JSON',
      spelled((one) => `${JSON.stringify(one)} `),
      1,
    ),
    no('a carriage return', whole.replaceAll('\n', '\r\n'), 1, 2),
    no('a byte order mark', `\uFEFF${whole}`, 1),
    no(
      'another order of keys',
      spelled(({ payload, payloadType, signatures }) => ({ payload, payloadType, signatures })),
      1,
    ),
    no(
      'one more key',
      spelled((one) => ({ ...one, more: 1 })),
      1,
    ),
    no(
      'an escape in the JSON',
      spelled((one) => JSON.stringify(one).replace('payloadType', 'payload\\u0054ype')),
      1,
    ),
    no(
      'base64 for URLs',
      spelled((one) => ({
        ...one,
        signatures: [{ ...one.signatures[0], sig: forUrls(one.signatures[0]?.sig) }],
      })),
      1,
    ),
    no(
      'base64 without padding',
      spelled((one) => ({
        ...one,
        signatures: [{ ...one.signatures[0], sig: one.signatures[0]?.sig.replace(/=+$/, '') }],
      })),
      1,
    ),
    no(
      'another type of payload',
      spelled((one) => ({ ...one, payloadType: 'application/json' })),
      1,
    ),
    no(
      'a changed statement',
      spelled((one) => ({
        ...one,
        payload: Buffer.from(runStatement(tests, { later: 1 })).toString('base64'),
      })),
      1,
    ),
    no('a byte that is no UTF-8', Buffer.concat([Buffer.from([0xff]), Buffer.from(whole)]), 1),
    no('no in-toto statement', lines(by('{}'), test), 1),
    no('no JSON', lines(by('hello'), test), 1),
    no(
      'a type in a list',
      lines(by(runStatement(tests).replace(`"${runPredicateType}"`, `["${runPredicateType}"]`)), test),
      1,
    ),
    no('null', lines(by('null'), test), 1),
    no(
      'an older statement',
      lines(by(runStatement(tests).replace('Statement/v1', 'Statement/v0.1')), test),
      1,
    ),
    no('another version of the predicate', lines(by(runStatement(tests, { schema_version: 2 })), test)),
    no('a predicate without a run', lines(by(runStatement(tests, { run: 7 })), test)),
    no(
      'an empty predicate',
      lines(by(statementText({ predicateType: runPredicateType, subject, predicate: null })), test),
    ),
    no('a predicate that is silent about tests', lines(by(runStatement(null, { test_result: undefined })))),
    no(
      'tests about another commit',
      otherTests(by, [{ digest: { gitCommit: 'e'.repeat(40) } }, { digest: { gitTree: product.tree } }]),
    ),
    no('tests about another tree', otherTests(by, subjectsOf({ ...product, tree: 'e'.repeat(40) }))),
    no('no subject', about([])),
    no('a commit without a tree', about([{ digest: { gitCommit: product.commit } }])),
    no('two trees', about([...subject, { digest: { gitTree: product.tree } }])),
    no('two digests in a subject', about([{ digest: { gitCommit: product.commit, gitTree: product.tree } }])),
    no('another digest', about([...subject, { digest: { sha256: 'a'.repeat(64) } }])),
    no('a short tree', about([{ digest: { gitTree: 'ddd' } }])),
    no('a tree with a line feed', about([{ digest: { gitTree: `${product.tree}\n` } }])),
    no('a tree that is no text', about([{ digest: { gitTree: [product.tree] } }])),
    no('a subject that is no list', about({ digest: { gitTree: product.tree } })),
  ];
}

type Envelope = {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
};

/** The last character changed at its idle bits where nothing else differs for URLs. */
const forUrls = (sig = ''): string => {
  const url = sig.replaceAll('+', '-').replaceAll('/', '_');
  return url === sig ? sig.replace('==', '=') : url;
};

function otherTests(by: (statement: string) => string, of: unknown): string {
  const tests = testStatement(of);
  return `${by(runStatement(tests))}\n${by(tests)}\n`;
}
