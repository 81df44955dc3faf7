/** A run is attested as what it is, and a stranger verifies that with the file, the public key and the repository. */
import { execFileSync } from 'node:child_process';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Ground, ground } from '../verify/ground.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const pem = (key: typeof publicKey, type: 'spki' | 'pkcs8') => key.export({ type, format: 'pem' }).toString();
const secret = 'check that the greeting is exactly hello';

let it: Ground;
beforeAll(async () => {
  it = await ground({
    'sign.pem': pem(privateKey, 'pkcs8'),
    'sign.pub': pem(publicKey, 'spki'),
    'work/scripts/scenarios/greet_user_scenarios.sh': `#!/bin/sh\n# ${secret}\n`,
    'sealed.dot': `digraph s { holdout="scripts/scenarios"; start [shape=Mdiamond]; done [shape=Msquare]
      check [shape=parallelogram, tool_command="echo ok >made.txt"]; start -> check -> done }`,
  });
}, 60_000);
afterAll(() => it[Symbol.asyncDispose]());

const attest = (run: string, flags: Readonly<Record<string, string | boolean>> = {}) =>
  it.called(['attest', run], { key: 'sign.pem', output: `${run}.jsonl`, json: true, ...flags });
const verify = (file: string, flags: Readonly<Record<string, string | boolean>> = {}) =>
  it.called(['verify', file], { key: 'sign.pub', json: true, ...flags });

/** What is signed of a run: attests it, and reads the file as a stranger does. */
async function attested(run: string) {
  const signed = await attest(run);
  expect(signed).toMatchObject({ code: 0, err: '' });
  const found = await verify(`${run}.jsonl`);
  expect({ code: found.code, err: found.err }).toEqual({ code: 0, err: '' });
  const { predicate, test_result, subject } = JSON.parse(found.out);
  return { predicate, test_result, subject, signed: JSON.parse(signed.out) };
}

test('a run without commits is attested with the tree that git makes of its workspace', async () => {
  expect((await it.start('done')).code).toBe(0);
  const { predicate, test_result, subject } = await attested('done');
  expect(predicate.run).toMatchObject({ id: 'done', status: 'completed', failed_node: null });
  // A later node has made another file than this command has seen.
  expect(test_result).toMatchObject({
    ...{ result: 'WARNED', failedTests: [], warnedTests: ['grep -q good out.txt'] },
  });
  expect(test_result.passedTests).toContain('grep -c good out.txt');
  expect(predicate.not_checked).toContain('no scenario judged the product');
  const folder = join(it.path, 'out');
  expect((await it.checkout('done', 'out')).code).toBe(0);
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' }).trim();
  git('init', '-q');
  git('add', '.', ':!.factory');
  expect(subject).toEqual({ commit: null, tree: git('write-tree') });
  git('-c', 'user.name=a', '-c', 'user.email=e', 'commit', '-qm', 'all');
  expect((await verify('done.jsonl', { repo: 'out' })).code).toBe(0);
  git('rm', '-q', 'keep.txt');
  git('-c', 'user.name=a', '-c', 'user.email=e', 'commit', '-qm', 'less');
  const other = await verify('done.jsonl', { repo: 'out' });
  expect(other.code).toBe(1);
  expect(JSON.parse(other.out).problems.join()).toContain(`not ${subject.tree}`);
});

test('a run with commits is attested with its last commit and its tree, which a repository has or has not', async () => {
  await it.build('built');
  const { subject, predicate, test_result } = await attested('built');
  expect(test_result).toMatchObject({ result: 'PASSED', warnedTests: [] });
  expect((await it.called(['deliver', 'built'], { to: 'product' })).code).toBe(0);
  const git = (name: string) =>
    execFileSync('git', ['-C', join(it.path, 'product'), 'rev-parse', name], { encoding: 'utf8' }).trim();
  expect(subject).toEqual({ commit: git('HEAD'), tree: git('HEAD^{tree}') });
  expect(predicate.commits).toHaveLength(2);
  expect(predicate.proof).not.toBe(null);
  expect((await verify('built.jsonl', { repo: 'product' })).code).toBe(0);
  execFileSync('git', ['-C', join(it.path, 'product'), 'checkout', '-q', 'HEAD~1']);
  expect((await verify('built.jsonl', { repo: 'product' })).code).toBe(1);
  expect((await verify('built.jsonl', { repo: 'product', branch: 'main' })).code).toBe(0);
}, 120_000);

test('failed, interrupted, forked and replayed runs are attested as such, and never as passed', async () => {
  expect((await it.start('failed', 'fails.dot')).code).toBe(1);
  const failed = await attested('failed');
  expect(failed.predicate.run).toMatchObject({ status: 'failed', failed_node: 'check' });
  expect(failed.test_result).toMatchObject({ result: 'FAILED' });
  expect(failed.test_result.failedTests).toContain('run: failed');
  await it.start('cut', 'p.dot', (line) => line.includes('node started node=verify'));
  const cut = await attested('cut');
  expect(cut.predicate.run.status).toBe('interrupted');
  expect(cut.predicate.not_checked[0]).toBe('the run has not ended: it is interrupted');
  expect(cut.test_result.result).toBe('FAILED');
  expect((await it.replay('done', { runId: 'again' })).code).toBe(0);
  const again = await attested('again');
  expect(again.predicate.replay_of).toMatchObject({ run_id: 'done', diverged: false });
  expect(again.predicate.replay_of.executions).toBeGreaterThan(0);
  expect(again.test_result).toMatchObject({ result: 'WARNED', passedTests: [] });
  expect((await it.fork('done', { at: 'check@1', runId: 'forked' })).code).toBe(0);
  expect((await attested('forked')).predicate.forked_from).toMatchObject({ run_id: 'done', node: 'check' });
}, 60_000);

test('a run that was resumed with another pipeline names both', async () => {
  const before = readFileSync(join(it.path, 'fails.dot'), 'utf8');
  const stop = (line: string) => line.includes('node started node=check');
  writeFileSync(join(it.path, 'changed.dot'), before.replace('exit 3', 'sleep 9'));
  expect((await it.start('other', 'changed.dot', stop)).code).toBe(130);
  const was = it.json('.factory/runs/other/manifest.json').pipeline.sha256;
  writeFileSync(join(it.path, 'changed.dot'), before.replace('exit 3', 'exit 0'));
  expect((await it.resume('other', { acceptChanges: true })).code).toBe(0);
  const { predicate } = await attested('other');
  const [change] = predicate.accepted.changes;
  expect(predicate.accepted.changes).toHaveLength(1);
  expect(change.changed).toEqual([
    { what: 'pipeline', before: was, after: predicate.inputs.pipeline.sha256 },
  ]);
  expect(was).not.toBe(predicate.inputs.pipeline.sha256);
});

test('a holdout is attested by a keyed hash: neither its hash nor its text is in the file', async () => {
  expect((await it.run('sealed.dot', { runId: 'sealed', workdir: 'work' })).code).toBe(0);
  const { predicate, signed } = await attested('sealed');
  const plain = it.json('.factory/runs/sealed/manifest.json').holdout.sha256;
  const keyed = createHmac('sha256', Buffer.from(signed.suite_key, 'hex')).update(plain).digest('hex');
  expect(predicate.inputs.suite).toEqual({ files: 1, hmac_sha256: keyed });
  const statements = it
    .read('sealed.jsonl')
    .trimEnd()
    .split('\n')
    .map((line) => Buffer.from(JSON.parse(line).payload, 'base64').toString());
  expect(statements).toHaveLength(2);
  for (const hidden of [plain, secret, 'greet_user', signed.suite_key])
    expect(statements.join('\n')).not.toContain(hidden);
  const again = await attested('sealed');
  expect(again.predicate.inputs.suite.hmac_sha256).not.toBe(keyed);
});

test('a changed run is not signed', async () => {
  expect((await it.start('damaged', 'fails.dot')).code).toBe(1);
  appendFileSync(join(it.dir('damaged'), 'check/tool.stderr.txt'), 'more');
  const refused = await attest('damaged', { json: false });
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.err).toContain('nothing was signed');
  expect(() => it.read('damaged.jsonl')).toThrow();
});

test('without the key of the signer nothing is verified, and with another one neither', async () => {
  writeFileSync(join(it.path, 'other.pub'), pem(generateKeyPairSync('ed25519').publicKey, 'spki'));
  const unknown = await it.called(['verify', 'done.jsonl']);
  expect(unknown.code).toBe(1);
  expect(unknown.out).toMatch(/signed by [0-9a-f]{64}, not verified/);
  expect((await verify('done.jsonl', { key: 'other.pub' })).code).toBe(1);
  expect((await it.called(['verify', 'done'], { key: 'sign.pub' })).code).toBe(2);
  expect((await it.called(['verify', 'done'])).code).toBe(0);
});

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
test.for([
  [
    'an encrypted key',
    privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' }),
    'encrypted',
  ],
  ['an RSA key', pem(rsa.privateKey, 'pkcs8'), 'rsa'],
  [
    'a key of OpenSSH',
    '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n',
    'OpenSSH',
  ],
  ['the public key', pem(publicKey, 'spki'), 'public key'],
  ['a text', 'hello', 'no PKCS#8'],
] as const)('%s does not sign, and the right command is named', async ([, text, why]) => {
  writeFileSync(join(it.path, 'bad.pem'), text);
  const refused = await attest('done', { key: 'bad.pem', output: 'bad.jsonl' });
  expect(refused.code).toBe(2);
  expect(refused.err).toContain(why);
  expect(refused.err).toContain('openssl genpkey -algorithm ed25519');
});

test('a private key does not verify', async () => {
  const refused = await verify('done.jsonl', { key: 'sign.pem' });
  expect(refused.code).toBe(2);
  expect(refused.err).toContain('openssl pkey -in KEY -pubout');
});
