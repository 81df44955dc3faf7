/** Records disk operations in order, for tests of a power failure. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { vi } from 'vitest';

/** From now on notes `flushed PATH` when a flush has ended and `moved PATH` when a file has another name; until it is
 *  disposed of. The disk reports an error where a flush of `broken` is asked for. The doors take hold of Node's functions when they are loaded: import them anew after this. */
export function noteDisk(broken?: string): {
  readonly told: string[];
  /** The disk reports an error from now on where a flush of `path` is asked for. */
  fail(path: string): void;
  /** The disk is well from now on. */
  mend(): void;
  [Symbol.dispose](): void;
} {
  const { fsync, fdatasync, openSync, renameSync } = fs;
  const { open } = fs.promises;
  const paths = new Map<number, string>();
  const told: string[] = [];
  let failing = broken;
  fs.openSync = (path, ...rest) => {
    const file = openSync(path, ...rest);
    paths.set(file, String(path));
    return file;
  };
  fs.renameSync = (from, to) => {
    renameSync(from, to);
    told.push(`moved ${String(from)}`);
  };
  const noting = (real: typeof fsync) =>
    Object.assign((file: number, done: fs.NoParamCallback) => {
      const path = paths.get(file);
      real(file, (error) => {
        told.push(`flushed ${path}`);
        done(
          path !== undefined && path === failing ? Object.assign(new Error('EIO'), { code: 'EIO' }) : error,
        );
      });
    }, real);
  fs.promises.open = async (path, ...rest) => {
    const file = await open(path, ...rest);
    const sync = file.sync.bind(file);
    file.sync = async () => {
      await sync();
      told.push(`flushed ${String(path)}`);
    };
    return file;
  };
  fs.fsync = noting(fsync);
  fs.fdatasync = noting(fdatasync);
  syncBuiltinESMExports();
  vi.resetModules();
  return {
    told,
    fail(path) {
      failing = path;
    },
    mend() {
      failing = undefined;
    },
    [Symbol.dispose]() {
      Object.assign(fs, { fsync, fdatasync, openSync, renameSync });
      fs.promises.open = open;
      syncBuiltinESMExports();
    },
  };
}
