/** What an agent's program may reach of its home. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentProgram } from '../agent.ts';

/** The home, writable except for the entries with these names, which are read-only: settings that can name
 *  programs, and words for later sessions. The user's own sessions, which nothing confines, believe them. */
export function homeBut(home: string, settings: readonly string[]): AgentProgram['home'] {
  const kept = settings.map((name) => join(home, name)).filter(isOwn);
  return [{ path: home, write: true }, ...kept.map((path) => ({ path, write: false }))];
}

/** A link is left alone: nothing can be laid over it. */
function isOwn(path: string): boolean {
  try {
    const is = lstatSync(path);
    return is.isFile() || is.isDirectory();
  } catch {
    return false;
  }
}
