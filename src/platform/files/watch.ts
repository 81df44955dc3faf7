/** Notices that files of a folder have changed. */
import { watch } from 'node:fs';

/** Calls `changed` soon after a file right in `folder` was written, made or removed; undefined where the system cannot (no
 *  such folder, no watches left, a network disk may never call). The returned function ends it. It does not keep the
 *  process alive. */
export function watchFolder(folder: string, changed: () => void): (() => void) | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    // The reader of the files finds out by itself that the folder is gone.
    watcher.on('error', () => watcher.close());
    return () => watcher.close();
  } catch {
    return undefined;
  }
}
