/** Paths of a folder that a program sees at another place. */
import { realpathSync } from 'node:fs';
import type { SpawnRequest } from '../../core/contracts/process.ts';
import type { Confinement } from '../../core/contracts/sandbox.ts';

/** Replaces, in a text, each path at or below the folder by the one that the program sees. */
export type Relocation = (text: string) => string;

export function relocationOf({ relocated }: Pick<Confinement, 'relocated'>): Relocation {
  if (relocated === undefined) return (text) => text;
  const { from, to } = relocated;
  const names = [...new Set([from, realOf(from)])].map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  // A letter, or a dot and a letter, makes it another name; a dot alone may end a sentence.
  const path = new RegExp(`(?:${names.join('|')})(?![\\w-]|\\.\\w)`, 'g');
  return (text) => text.replace(path, () => to);
}

/** The request as the program sees it; where it runs from is a path outside of the sandbox. */
export function relocatedRequest(request: SpawnRequest, seen: Relocation): SpawnRequest {
  const [program, ...words] = request.argv;
  const { talk } = request;
  return {
    ...request,
    argv: [seen(program), ...words.map(seen)],
    env: Object.fromEntries(Object.entries(request.env).map(([name, value]) => [name, seen(value)])),
    ...(request.stdin === undefined ? {} : { stdin: seen(request.stdin) }),
    ...(talk === undefined
      ? {}
      : { talk: (input) => talk({ write: (text) => input.write(seen(text)), end: () => input.end() }) }),
  };
}

function realOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
