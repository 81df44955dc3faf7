/** The folder in which a run is made before it gets its name, and what becomes of it when its maker was killed. */
import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { dropKey } from '../store/sealed.ts';
import { isCode } from '../system/files.ts';
import { isAbandoned, makerWord } from '../system/maker.ts';

/** Hidden, so that no listing takes it for a run; it tells who makes it, and where that process can be looked for. */
export const buildingName = (runId: string, unique: string): string =>
  `.${runId}.${unique}.${makerWord()}.new`;

const named = /^\..+\.([0-9a-f]{8}\.\d+\.[0-9a-f]{8})\.new$/;

/** Removes from `runsDir` what makers that have ended left unfinished, each with its key. `now` in milliseconds. */
export async function removeAbandoned(
  runsDir: string,
  now: number,
  env: Parameters<typeof dropKey>[1],
): Promise<void> {
  for (const name of readdirSync(runsDir)) {
    const [, maker = ''] = named.exec(name) ?? [];
    const path = join(runsDir, name);
    // Another user's stays: it must not keep this run from being made.
    if ((await isAbandoned(maker, path, now)) !== true) continue;
    // The key first: without the folder nobody would know it for one that opens nothing.
    await dropKey(path, env);
    await rm(path, { recursive: true, force: true }).catch(onlyDenied);
  }
}

const onlyDenied = (error: unknown): void => {
  if (!isCode(error, 'EACCES', 'EPERM', 'ENOTEMPTY')) throw error;
};
