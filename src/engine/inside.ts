/** Whether paths that a stage names stay where they belong. */
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMissing } from '../system/files.ts';

/** False when the path, or the nearest part of it that exists, leads out of the workspace by a link. */
export async function staysInside(workspace: string, path: string): Promise<boolean> {
  const root = await realpath(workspace);
  for (let at = join(workspace, path); ; at = dirname(at)) {
    try {
      const real = await realpath(at);
      return real === root || real.startsWith(`${root}/`);
    } catch (error) {
      if (!isMissing(error) || at === workspace) return false;
    }
  }
}
