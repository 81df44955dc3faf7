/** The sealed store: all holdout files in one packed, encrypted file of the run, written once. Its key is outside the run
 *  directory, so that access to a run gives no access to its holdout. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import * as z from 'zod';
import type { Diagnostic } from '../core/diagnostic.ts';
import { once } from '../core/once.ts';
import { layout } from '../core/records/layout.ts';
import type { Holdout, SealedFile } from '../core/records/manifest.ts';
import { sha256 } from '../core/sha256.ts';
import { isFolder, readPlainBytes } from '../platform/files/read.ts';
import {
  isCode,
  makeFolder,
  syncFolders,
  systemWords,
  writeFileAtomic,
  writeNewFile,
} from '../platform/files/write.ts';

/** Magic, 12 bytes of nonce, 16 bytes of tag, then AES-256-GCM of: length of the list (4 bytes), the list as JSON, all
 *  contents one after the other. */
const magic = Buffer.from('FACTORY-SEALED-1\n');
const nonceBytes = 12;
/** Bytes of one read: a holdout may be large. */
const mostOfStore = 2 ** 31 - 1;
const tagBytes = 16;

/** Limit of a holdout in bytes: it is held in memory during the run. */
export const mostSealedBytes = 256 * 1024 * 1024;

const listSchema = once(() =>
  z.array(
    z.object({
      path: z.string(),
      kind: z.enum(['file', 'link', 'dir']),
      mode: z.number(),
      size: z.number(),
    }),
  ),
);

type Environment = Readonly<Record<string, string | undefined>>;

/** Directory of the keys: `FACTORY_KEYS`, else `factory/keys` in `XDG_STATE_HOME` or `~/.local/state`; undefined without a
 *  home. */
export function keysFolder(env: Environment): string | undefined {
  const absolute = (name: string) => {
    const value = env[name];
    return value !== undefined && isAbsolute(value) ? value : undefined;
  };
  const given = absolute('FACTORY_KEYS');
  if (given !== undefined) return given;
  const home = absolute('HOME');
  const state =
    absolute('XDG_STATE_HOME') ?? (home === undefined ? undefined : join(home, '.local', 'state'));
  return state === undefined ? undefined : join(state, 'factory', 'keys');
}

/** Directory for the key of a new run, or why there is none. */
export function placeOfKeys(
  env: Environment,
): { readonly folder: string } | { readonly problem: Diagnostic & { readonly fix: string } } {
  const { FACTORY_KEYS: given = '' } = env;
  // A relative path would mean another directory at a resume.
  if (given !== '' && !isAbsolute(given))
    return problem(`FACTORY_KEYS=${given} is no absolute path`, keysFix);
  const folder = keysFolder(env);
  if (folder === undefined)
    return problem('there is no place for the key of the sealed scenarios: HOME is not set', keysFix);
  return { folder };
}

/** Hash in the manifest: SHA-256, hex, over a line for each entry, sorted by path. */
export function sealedHash(files: readonly SealedFile[]): string {
  const hash = createHash('sha256');
  for (const { path, kind, mode, content } of sorted(files))
    hash.update(`${kind} ${mode.toString(8)} ${sha256(content)} ${path}\n`);
  return hash.digest('hex');
}

/** Name of the key file of a run, from the path of the directory in which the run is being created: a clean-up after a killed
 *  process finds the key without reading anything in that directory. */
const keyNameOf = (building: string): string => sha256(building).slice(0, 32);

/** Seals the files into a run directory that is being created, and flushes store and key. */
export async function writeSealed(
  runDir: string,
  files: readonly SealedFile[],
  env: Environment,
): Promise<Pick<Holdout, 'files' | 'sha256' | 'store_sha256' | 'key'> | { readonly problem: Diagnostic }> {
  const place = placeOfKeys(env);
  if ('problem' in place) return place;
  const { folder } = place;
  const name = keyNameOf(runDir);
  const key = randomBytes(32);
  const store = pack(sorted(files), key);
  try {
    const first = makeFolder(dirname(folder)) ?? folder;
    await mkdir(folder, { mode: 0o700 }).then(
      // New directories of the key must survive a power cut too.
      () => syncFolders(dirname(folder), dirname(first)),
      (error: unknown) => {
        if (!isCode(error, 'EEXIST')) throw error;
      },
    );
    // Without a temporary file: other runs have keys here too, and the owner of a leftover could not be determined.
    await writeNewFile(join(folder, name), `${key.toString('hex')}\n`, 0o600);
  } catch (error) {
    const file = fileAbove(folder);
    return problem(
      `the key of the sealed scenarios cannot be kept in ${folder}: ${file === undefined ? systemWords(error) : `${file} is a file, and not a folder`}`,
      keysFix,
    );
  }
  await writeFileAtomic(layout(runDir).sealed, store, { mode: 0o600, sync: true, syncFolder: true });
  return {
    files: files.filter(({ kind }) => kind !== 'dir').length,
    sha256: sealedHash(files),
    store_sha256: sha256(store),
    key: name,
  };
}

/** The path that keeps this folder from being created: itself, or one above it that is no folder. */
function fileAbove(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(at)) return isFolder(at) ? undefined : at;
    if (at === dirname(at)) return undefined;
  }
}

/** A variable that puts the home or the state of this user below a plain file. A device is where users without a home have it. */
export function homeProblem(env: Environment): Diagnostic | undefined {
  for (const name of ['HOME', 'XDG_STATE_HOME', 'FACTORY_KEYS']) {
    const value = env[name];
    const file = value !== undefined && isAbsolute(value) ? fileAbove(value) : undefined;
    if (file === undefined || statSync(file).isFile() !== true) continue;
    return {
      code: 'environment',
      severity: 'error',
      message: `${name} is ${value}, but ${file} is a file, and not a folder`,
      fix: `set ${name} to a folder${name === 'HOME' ? '' : ', or unset it'}`,
    };
  }
  return undefined;
}

/** Key file of a run that is being created, whether it exists or not; undefined without a key directory. */
export function keyFileOf(building: string, env: Environment): string | undefined {
  const folder = keysFolder(env);
  return folder === undefined ? undefined : join(folder, keyNameOf(building));
}

/** Key file of a run with a holdout, whether it is there or not; undefined without a key directory. */
export function holdoutKeyFile({ key }: Pick<Holdout, 'key'>, env: Environment): string | undefined {
  const folder = keysFolder(env);
  return folder === undefined ? undefined : join(folder, key);
}

/** Removes the key of a holdout whose run is removed. One that cannot be removed does no harm. */
export async function dropHoldoutKey({ key }: Pick<Holdout, 'key'>, env: Environment): Promise<void> {
  const folder = keysFolder(env);
  // The manifest may be from elsewhere: a name, never a path.
  if (folder !== undefined && basename(key) === key)
    await rm(join(folder, key), { force: true }).catch(() => {});
}

/** Removes the key of a run that was not created. If it cannot be removed it does no harm: there is nothing for it to open. */
export async function dropKey(building: string, env: Environment): Promise<void> {
  const file = keyFileOf(building, env);
  if (file !== undefined) await rm(file, { force: true }).catch(() => {});
}

/** The sealed files of a run, checked against its manifest, and its key. */
export async function readSealed(
  runDir: string,
  holdout: Holdout,
  env: Environment,
): Promise<
  | { readonly files: readonly SealedFile[]; readonly key: Buffer }
  | { readonly problem: Diagnostic & { readonly fix: string } }
> {
  const read = readHoldoutKey(holdout, env);
  if ('problem' in read) return read;
  const { key } = read;
  const path = layout(runDir).sealed;
  const store = readPlainBytes(path, mostOfStore);
  const back =
    'put that file back from a copy of the run directory, or begin a new run; nothing of it was used';
  if (store.kind === 'missing') return problem(`the sealed scenarios are gone: there is no ${path}`, back);
  if (store.kind === 'none')
    return problem(`the sealed scenarios cannot be read: ${path} ${store.why}`, back);
  const files = unpack(store.text, key);
  if (files === undefined || sealedHash(files) !== holdout.sha256)
    return problem(`the sealed scenarios in ${path} are not those that the run was begun with`, back);
  return { files, key };
}

/** The key of a run with a holdout. */
export function readHoldoutKey(
  holdout: Pick<Holdout, 'key'>,
  env: Environment,
): { readonly key: Buffer } | { readonly problem: Diagnostic & { readonly fix: string } } {
  const keyFile = holdoutKeyFile(holdout, env);
  const text = keyFile === undefined ? undefined : readPlainBytes(keyFile);
  if (text?.kind === 'text') return { key: Buffer.from(text.text.toString('latin1').trim(), 'hex') };
  return problem(
    `the key of the sealed scenarios is not there (${keyFile ?? 'HOME is not set'})`,
    'resume as the user and on the machine that began the run, or put the key back there (FACTORY_KEYS names another folder)',
  );
}

/** A text that may be read only where the key of the run's holdout is: encrypted as the holdout is. */
export const sealText = (text: string, key: Buffer): Buffer =>
  pack([{ path: '', kind: 'file', mode: 0o600, content: Buffer.from(text) }], key);

/** Undefined for anything but the output of `sealText` with this key. */
export const openText = (sealed: Buffer, key: Buffer): string | undefined =>
  unpack(sealed, key)?.[0]?.content.toString();

function pack(files: readonly SealedFile[], key: Buffer): Buffer {
  const list = Buffer.from(
    JSON.stringify(
      files.map(({ path, kind, mode, content }) => ({ path, kind, mode, size: content.length })),
    ),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32BE(list.length);
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const body = [length, list, ...files.map(({ content }) => content)].map((part) => cipher.update(part));
  const end = cipher.final();
  return Buffer.concat([magic, nonce, cipher.getAuthTag(), ...body, end]);
}

/** Undefined for anything but the output of `pack` with this key. */
function unpack(store: Buffer, key: Buffer): SealedFile[] | undefined {
  const head = magic.length + nonceBytes + tagBytes;
  if (key.length !== 32 || store.length < head || !store.subarray(0, magic.length).equals(magic))
    return undefined;
  const nonce = store.subarray(magic.length, magic.length + nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce);
  decipher.setAuthTag(store.subarray(magic.length + nonceBytes, head));
  let plain: Buffer;
  try {
    plain = Buffer.concat([decipher.update(store.subarray(head)), decipher.final()]);
  } catch {
    // The tag does not match: no byte is trusted.
    return undefined;
  }
  const listEnd = 4 + plain.readUInt32BE(0);
  const list = listSchema().parse(JSON.parse(plain.toString('utf8', 4, listEnd)));
  let at = listEnd;
  return list.map(({ path, kind, mode, size }) => {
    const content = plain.subarray(at, at + size);
    at += size;
    return { path, kind, mode, content };
  });
}

/** A problem with the key directory. */
export const keysFix = 'set FACTORY_KEYS to a folder outside the runs directory that only you can read';

const problem = (
  message: string,
  fix: string,
): { readonly problem: Diagnostic & { readonly fix: string } } => ({
  problem: { code: 'holdout', severity: 'error', message, fix },
});

const sorted = (files: readonly SealedFile[]): SealedFile[] =>
  [...files].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
