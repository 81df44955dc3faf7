/** Writing into a node's folder, which the node's own programs can write into too. */
import { rm } from 'node:fs/promises';
import { beforeWrite } from '../system/fence.ts';
import { isCode, writeFileAtomic } from '../system/files.ts';

/** Writes an artifact. A folder that a stage left in its place goes. */
export async function keepText(path: string, text: string): Promise<void> {
  try {
    await writeFileAtomic(path, text);
  } catch (error) {
    if (!isCode(error, 'EISDIR') && !isCode(error, 'ENOTEMPTY') && !isCode(error, 'EEXIST')) throw error;
    beforeWrite(path);
    await rm(path, { recursive: true, force: true });
    await writeFileAtomic(path, text);
  }
}

/** The same for JSON, with two-space indent and a final newline. */
export const keepJson = (path: string, value: unknown): Promise<void> =>
  keepText(path, `${JSON.stringify(value, null, 2)}\n`);
