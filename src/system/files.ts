/** The door to durable files: a file is either the old one or the new one, never half of either. */
import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export type WriteOptions = {
  /** Permission bits of the new file, exactly (the umask does not apply). Default 0o644. */
  readonly mode?: number;
  /** Flush to the disk before the rename (fdatasync). Default false. */
  readonly sync?: boolean;
  /** Flush the folder after the rename too, so that the new name itself outlives a power cut. Default false. */
  readonly syncFolder?: boolean;
};

/** Writes a neighbour and renames it over `path`; missing parent folders are made. */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  options: WriteOptions = {},
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const neighbour = join(
    dirname(path),
    `.${basename(path).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`,
  );
  try {
    const file = await open(neighbour, 'wx', 0o600);
    try {
      await file.writeFile(data);
      await file.chmod(options.mode ?? 0o644);
      if (options.sync === true) await file.datasync();
    } finally {
      await file.close();
    }
    await rename(neighbour, path);
  } catch (error) {
    await rm(neighbour, { force: true });
    throw error;
  }
  if (options.syncFolder === true) await syncFolder(dirname(path));
}

/** Flushes a folder's list of names to the disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch (error) {
    // Some file systems (network, overlay) cannot flush a folder, and then there is nothing to do about it.
    if (!isCode(error, 'EINVAL', 'ENOTSUP', 'EBADF')) throw error;
  } finally {
    await folder.close();
  }
}

/** JSON with two-space indent and a final newline, written atomically. */
export async function writeJson(path: string, value: unknown, options: WriteOptions = {}): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(value, null, 2)}\n`, options);
}

/** True for an error of the system with one of these codes (`EEXIST`, …). */
export const isCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);

/** True for the error of a path that is not there. */
export const isMissing = (error: unknown): boolean => isCode(error, 'ENOENT', 'ENOTDIR');
