/** Whether anything in a folder has changed: names, sizes and times of its files, in one hash. */
import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Files that are looked at; of a larger folder the rest does not count. */
const most = 20_000;

/** Files that are moved away and back keep what is looked at; so the times of folders do not count. */
export async function footprint(root: string): Promise<string> {
  const hash = createHash('sha256');
  let seen = 0;
  const look = async (folder: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      seen += 1;
      if (seen > most) return;
      const path = join(folder, entry.name);
      hash.update(`${path}\0`);
      if (entry.isDirectory()) await look(path);
      else {
        const is = await lstat(path).catch(() => undefined);
        hash.update(`${is?.size} ${is?.mtimeMs} ${is?.mode}\0`);
      }
    }
  };
  await look(root);
  return hash.digest('hex');
}
