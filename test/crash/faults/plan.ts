/** The fault of a process under test, and which process of the run it is: read from the environment once, at its start. */
import { openSync } from 'node:fs';
import { join } from 'node:path';

/** What is counted. `create` is a file that an opening brings into being or empties. */
export const kinds = [
  'create',
  'write',
  'sync',
  'rename',
  'link',
  'unlink',
  'mkdir',
  'mode',
  'spawn',
] as const;
export type Kind = (typeof kinds)[number];

/** `kill`: SIGKILL before the operation, in the middle of it for a write. `after`: SIGKILL when it is done. `power`: the
 *  same, and what was not flushed is lost. `orphan`: only the engine is killed, the tool that it started continues.
 *  `error`: the operation fails once. `full`: from here on there is no space left. */
export const actions = ['kill', 'after', 'power', 'orphan', 'error', 'full'] as const;
export type Action = (typeof actions)[number];

export type Plan = {
  /** Where records of this run are kept, outside of everything that is compared. */
  readonly folder: string;
  /** `engine`, or `tool<n>` for the n-th `factory` that a stage has started. */
  readonly who: string;
  /** Undefined: only record. */
  readonly point: { readonly kind: Kind | 'any'; readonly k: number; readonly action: Action } | undefined;
  readonly seed: number;
};

/** Undefined when the process is not under test. Operations of the caller's own must not be counted yet. */
export function readPlan(env: NodeJS.ProcessEnv): Plan | undefined {
  const folder = env['CRASH_FOLDER'];
  if (folder === undefined) return undefined;
  const who = env['FACTORY_RUN_MARKER'] === undefined ? 'engine' : `tool${ordinal(folder)}`;
  const [whom, kind, k, action] = (env['CRASH_POINT'] ?? '').split(':');
  const known = [...kinds, 'any' as const].find((one) => one === kind);
  const what = actions.find((one) => one === action);
  return {
    folder,
    who,
    point:
      whom === who && known !== undefined && what !== undefined
        ? { kind: known, k: Number(k), action: what }
        : undefined,
    seed: Number(env['CRASH_SEED'] ?? '1'),
  };
}

/** The number of this tool among those of the run: each takes the next free name. */
function ordinal(folder: string): number {
  for (let n = 1; ; n++) {
    try {
      openSync(join(folder, `tool${n}`), 'wx');
      return n;
    } catch {
      // Taken by an earlier one.
    }
  }
}

/** The same numbers for the same seed (mulberry32); each in [0, 1). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
