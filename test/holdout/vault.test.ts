import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Holdout, SealedFile } from '../../src/core/records/manifest.ts';
import {
  dropKey,
  keysFolder,
  openText,
  readSealed,
  sealedHash,
  sealText,
  writeSealed,
} from '../../src/holdout/vault.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'factory-sealed-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const files: readonly SealedFile[] = [
  { path: 'judge', kind: 'dir', mode: 0o750, content: Buffer.alloc(0) },
  {
    path: 'judge/a.sh',
    kind: 'file',
    mode: 0o755,
    content: Buffer.from('#!/bin/sh\necho very-secret-line\n'),
  },
  { path: 'judge/empty', kind: 'file', mode: 0o644, content: Buffer.alloc(0) },
  { path: 'judge/link', kind: 'link', mode: 0o777, content: Buffer.from('a.sh') },
  { path: 'judge/\udcff', kind: 'file', mode: 0o400, content: Buffer.from([0, 255, 10]) },
];

async function seal(name: string): Promise<{ run: string; env: Record<string, string>; holdout: Holdout }> {
  const run = await mkdtemp(join(root, `${name}-`));
  const env = { FACTORY_KEYS: join(root, `${name}-keys`) };
  const made = await writeSealed(run, files, env);
  if ('problem' in made) throw new Error(made.problem.message);
  return { run, env, holdout: { paths: ['judge'], from: 'workdir', ...made } };
}

describe('the sealed store', () => {
  it('restores every file, link, folder, mode and name unchanged', async () => {
    const { run, env, holdout } = await seal('whole');
    const read = await readSealed(run, holdout, env);
    expect('files' in read && [...read.files].sort((a, b) => (a.path < b.path ? -1 : 1))).toEqual(
      [...files].sort((a, b) => (a.path < b.path ? -1 : 1)),
    );
    expect(holdout.files).toBe(4);
    const store = await readFile(join(run, '.sealed'));
    expect(holdout.store_sha256).toBe(createHash('sha256').update(store).digest('hex'));
  });

  it('shows neither names nor contents, and stores its key readable by its owner only', async () => {
    const { run, env, holdout } = await seal('hidden');
    const store = await readFile(join(run, '.sealed'));
    expect(store.includes('very-secret-line')).toBe(false);
    expect(store.includes('judge')).toBe(false);
    expect(await readdir(run)).toEqual(['.sealed']);
    const key = join(env['FACTORY_KEYS'] ?? '', holdout.key);
    expect((await stat(key)).mode & 0o777).toBe(0o600);
    expect((await stat(env['FACTORY_KEYS'] ?? '')).mode & 0o777).toBe(0o700);
  });

  it.each([
    ['a flipped bit', async (run: string) => flip(join(run, '.sealed'), 60)],
    ['a cut end', async (run: string) => cut(join(run, '.sealed'))],
    ['another file in its place', async (run: string) => writeFile(join(run, '.sealed'), 'x')],
    ['no store', async (run: string) => rm(join(run, '.sealed'))],
  ])('refuses %s', async (_, damage) => {
    const { run, env, holdout } = await seal('damaged');
    await chmod(join(run, '.sealed'), 0o600);
    await damage(run);
    const read = await readSealed(run, holdout, env);
    expect('problem' in read && read.problem.message).toMatch(/sealed scenarios/);
  });

  it('reads a store of any size that can be written, and reports what exists instead', async () => {
    const { run, env, holdout } = await seal('large');
    const path = join(run, '.sealed');
    await chmod(path, 0o600);
    await truncate(path, 300 * 1024 * 1024);
    const large = await readSealed(run, holdout, env);
    expect('problem' in large && large.problem.message).toContain('are not those');
    await rm(path);
    await mkdir(path);
    const folder = await readSealed(run, holdout, env);
    expect('problem' in folder && folder.problem.message).toContain(`${path} is a folder`);
  });

  it('refuses a store that another manifest commits to', async () => {
    const { run, env, holdout } = await seal('other');
    const read = await readSealed(run, { ...holdout, sha256: sealedHash([]) }, env);
    expect('problem' in read).toBe(true);
  });

  it('reports where it looked for a missing key', async () => {
    const { run, env, holdout } = await seal('keyless');
    await dropKey(run, env);
    const read = await readSealed(run, holdout, env);
    expect('problem' in read && read.problem.message).toContain(join(env['FACTORY_KEYS'] ?? '', holdout.key));
  });

  it('asks for a folder of keys without a home', async () => {
    const made = await writeSealed(await mkdtemp(join(root, 'homeless-')), files, {});
    expect('problem' in made && made.problem.fix).toContain('FACTORY_KEYS');
  });

  it.each([
    [{ FACTORY_KEYS: '/k', HOME: '/h' }, '/k'],
    [{ XDG_STATE_HOME: '/s', HOME: '/h' }, '/s/factory/keys'],
    [{ XDG_STATE_HOME: 'relative', HOME: '/h' }, '/h/.local/state/factory/keys'],
    [{}, undefined],
  ])('looks for keys where the environment says: %j', (env, folder) => {
    expect(keysFolder(env)).toBe(folder);
  });

  it('has a hash that any change to any entry changes', () => {
    fc.assert(
      fc.property(fc.nat(files.length - 1), fc.uint8Array({ minLength: 1 }), (n, extra) => {
        const changed = files.map((file, at) =>
          at === n ? { ...file, content: Buffer.concat([file.content, extra]) } : file,
        );
        return (
          sealedHash(changed) !== sealedHash(files) && sealedHash([...files].reverse()) === sealedHash(files)
        );
      }),
    );
  });
});

async function flip(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  await writeFile(path, bytes);
}

async function cut(path: string): Promise<void> {
  await writeFile(path, (await readFile(path)).subarray(0, -1));
}

it('a home below a plain file is refused, and the file is named', async () => {
  const file = join(root, 'plain');
  await writeFile(file, 'x');
  const made = await writeSealed(await mkdtemp(join(root, 'under-')), [], { HOME: join(file, 'sub') });
  expect('problem' in made && made.problem.message).toMatch(
    /plain\/sub\/.*: \S+\/plain is a file, and not a folder$/,
  );
});

describe('a text that is sealed with the key of a holdout', () => {
  it('opens with this key alone, unchanged', () =>
    fc.assert(
      fc.property(fc.string(), fc.nat(), (text, at) => {
        const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
        const store = sealText(text, key);
        expect(openText(store, key)).toBe(text);
        expect(openText(store, other)).toBeUndefined();
        const changed = Buffer.from(store);
        const place = at % changed.length;
        changed[place] = (changed[place] ?? 0) ^ 1;
        expect(openText(changed, key)).toBeUndefined();
      }),
      { numRuns: 50 },
    ));
});
