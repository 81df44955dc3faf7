/** What a prepared answer changes in the workspace, done as an agent would have done it. */
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { lstat, readFile, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { FileEffect } from '../../model/agent-script.ts';
import { isDisks } from '../../system/disk-trouble.ts';
import { Superseded } from '../../system/fence.ts';
import { isMissing, removeNow, systemWords, writeFileAtomic } from '../../system/files.ts';

/** Carries the changes out, one after the other. The first that fails ends it; the answer is the reason. `scriptDir`
 *  is the script's folder. */
export async function carryOut(
  effects: readonly FileEffect[],
  workspace: string,
  scriptDir: string,
): Promise<string | undefined> {
  for (const effect of effects) {
    try {
      const wrong = await carriedOut(effect, workspace, scriptDir);
      if (wrong !== undefined) return `files: ${effect.path}: ${wrong}`;
    } catch (error) {
      // Nor is a run that is another's by now a matter of what the answer asks for.
      if (isDisks(error) || error instanceof Superseded) throw error;
      return `files: ${effect.path}: ${systemWords(error)}`;
    }
  }
  return undefined;
}

async function carriedOut(
  effect: FileEffect,
  workspace: string,
  scriptDir: string,
): Promise<string | undefined> {
  const path = join(workspace, effect.path);
  if (!(await staysInside(workspace, dirname(path)))) return 'it leads out of the workspace by a link';
  if (effect.delete === true) {
    removeNow(path);
    return undefined;
  }
  if (effect.link !== undefined) {
    removeNow(path);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(effect.link, path);
    return undefined;
  }
  const bytes = await contentOf(effect, scriptDir);
  if ('wrong' in bytes) return bytes.wrong;
  const was = await lstat(path).catch(() => undefined);
  if (was !== undefined && !was.isFile()) removeNow(path);
  const mode = effect.mode === undefined ? undefined : Number.parseInt(effect.mode, 8);
  // A file that is there keeps its mode, as with an editor.
  const kept = was?.isFile() === true ? was.mode & 0o7777 : 0o644;
  await writeFileAtomic(path, bytes.content, { mode: mode ?? kept });
  if (mode !== undefined) chmodSync(path, mode);
  return undefined;
}

async function contentOf(
  effect: FileEffect,
  scriptDir: string,
): Promise<{ readonly content: string | Uint8Array } | { readonly wrong: string }> {
  if (effect.base64 !== undefined) return { content: Buffer.from(effect.base64, 'base64') };
  if (effect.content_file === undefined) return { content: effect.content ?? '' };
  const source = resolve(scriptDir, effect.content_file);
  try {
    return { content: await readFile(source) };
  } catch (error) {
    return {
      wrong: `content_file ${source} cannot be read: ${isMissing(error) ? 'there is no such file' : systemWords(error)}`,
    };
  }
}

/** False when the folder, or the nearest one above it that exists, is somewhere else by a link. */
async function staysInside(workspace: string, folder: string): Promise<boolean> {
  const root = await realpath(workspace);
  for (let at = folder; ; at = dirname(at)) {
    try {
      const real = await realpath(at);
      return real === root || real.startsWith(`${root}/`);
    } catch (error) {
      if (!isMissing(error) || at === workspace) return false;
    }
  }
}
