#!/usr/bin/env node
/* Verifies the attestation of a run without factory: node attestation.mjs FILE PUBLIC_KEY [REPOSITORY [REVISION]]
   It needs Node 20, nothing else; git for REPOSITORY. Exit code 0: the signer has signed it, unchanged. 1: not. 2: a file
   cannot be read. That tells who signed, not that it is true. The format: docs/attest.md. */
import { spawnSync } from 'node:child_process';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

const type = 'application/vnd.in-toto+json';
const runType = 'urn:factory:attestation:run:v1';
const testType = 'https://in-toto.io/attestation/test-result/v0.1';
const [file, keyFile, repository, revision = 'HEAD'] = process.argv.slice(2);

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const fail = (why) => {
  throw new Error(why);
};
const end = (code, text) => {
  process.stdout.write(`${text}\n`);
  process.exit(code);
};
const read = (path, what) => {
  try {
    return what(readFileSync(path));
  } catch (error) {
    return end(2, `${path} cannot be read: ${error.message}`);
  }
};

function publicKey(pem) {
  const label = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(pem.toString())?.[1];
  const key = label === 'PUBLIC KEY' ? createPublicKey(pem) : fail('it is no public key in PEM');
  return key.asymmetricKeyType === 'ed25519' ? key : fail('it is no Ed25519 key');
}

/* An envelope has one spelling, byte by byte: JSON and base64 allow others, which no signature covers. */
function envelopeIn(line) {
  try {
    const envelope = JSON.parse(line.toString('utf8'));
    const [{ keyid, sig: text }] = envelope.signatures;
    const [payload, sig] = [envelope.payload, text].map((one) => Buffer.from(one, 'base64'));
    const signatures = [{ keyid, sig: sig.toString('base64') }];
    const spelled = JSON.stringify({ payloadType: type, payload: payload.toString('base64'), signatures });
    if (typeof keyid === 'string' && Buffer.from(spelled).equals(line)) return { payload, keyid, sig };
  } catch {}
  return undefined;
}

/* What a line says that this key has signed; else why it decides nothing. */
function signed(line, key, fingerprint) {
  const envelope = envelopeIn(line);
  if (envelope === undefined) return { why: 'no envelope as factory writes it' };
  const { payload, keyid, sig } = envelope;
  if (keyid !== fingerprint) return { why: 'names another key' };
  const before = Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `);
  if (!verify(null, Buffer.concat([before, payload]), key, sig)) return { why: 'its signature is wrong' };
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(payload);
    const read = JSON.parse(text);
    if (read._type === 'https://in-toto.io/Statement/v1') return { ...read, sha256: sha256(payload) };
  } catch {}
  return { why: 'no statement of in-toto' };
}

/* The commit, if there is one, and the tree that a statement is about. */
function productOf({ subject }) {
  const found = { gitCommit: [], gitTree: [] };
  for (const { digest } of subject) {
    const [[kind, hash], more] = Object.entries(digest);
    const isHash = typeof hash === 'string' && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(hash);
    found[kind].push(isHash && more === undefined ? hash : fail('a subject has another form'));
  }
  const { gitCommit: commits, gitTree: trees } = found;
  if (trees.length !== 1 || commits.length > 1) fail('the subjects are not a tree and at most one commit');
  return { commit: commits[0] ?? null, tree: trees[0] };
}

/* The statement about the run, which names the one about its tests, if it has one. */
function bundle(runs, tests) {
  if (runs.length !== 1) fail(`${runs.length} statements about a run by this key, not one`);
  const { predicate } = runs[0];
  const { schema_version, run, test_result: named, judged, accepted, not_checked } = predicate;
  if (schema_version !== 1 || typeof run.id !== 'string' || named === undefined) fail('it has another form');
  const wanted = named === null ? 0 : 1;
  if (tests.length !== wanted) fail(`${tests.length} statements about tests by this key, not ${wanted}`);
  if (tests.some((one) => one.sha256 !== named.sha256)) fail('the tests are those of another run');
  const [of, tested = of] = [...runs, ...tests].map(productOf);
  if (tested.commit !== of.commit || tested.tree !== of.tree) fail('the two differ in commit or tree');
  const result = tests[0]?.predicate?.result ?? 'nothing was tested';
  return { ...of, result, run, judged, accepted, not_checked };
}

/* What the repository has instead, if it is something else. */
function checkRepository({ commit, tree }) {
  const asked = [`${revision}^{commit}`, `${revision}^{tree}`].map((name) => ['rev-parse', '--verify', name]);
  const run = (args) => spawnSync('git', ['--no-replace-objects', '-C', repository, ...args]);
  const [is, its] = asked.map((args) => run(args).stdout?.toString().trim());
  if (its !== tree || (commit ?? is) !== is) fail(`${revision} there has commit ${is} and tree ${its}`);
}

if (keyFile === undefined) end(2, 'node attestation.mjs FILE PUBLIC_KEY [REPOSITORY [REVISION]]');
const text = read(file, (bytes) => bytes.toString('latin1'));
const lines = text.replace(/\n$/, '').split('\n');
const key = read(keyFile, publicKey);
const fingerprint = sha256(key.export({ type: 'spki', format: 'der' }));
const [runs, tests] = [[], []];
for (const [at, line] of text === '' ? [] : lines.entries()) {
  const one = signed(Buffer.from(line, 'latin1'), key, fingerprint);
  if (one.predicateType === runType) runs.push(one);
  else if (one.predicateType === testType) tests.push(one);
  else process.stdout.write(`line ${at + 1} decides nothing: ${one.why ?? 'a statement of another type'}\n`);
}
try {
  const attested = bundle(runs, tests);
  if (repository !== undefined) checkRepository(attested);
  end(0, `${JSON.stringify(attested, null, 2)}\nverified: signed by ${fingerprint}`);
} catch (error) {
  end(1, `not verified: ${error.message}`);
}
