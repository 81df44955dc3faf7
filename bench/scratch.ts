/** The folder in which everything happens, and the surroundings of the programs that are measured. */
import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Scratch = {
  readonly path: string;
  /** A folder for one case. They stay until the end: a file system makes files slowly right after a large removal. */
  room(name: string): string;
  [Symbol.asyncDispose](): Promise<void>;
};

/** Below the folder for temporary files (`TMPDIR`): that disk is the one which is measured. */
export function openScratch(): Scratch {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'factory-bench-')));
  return {
    path,
    room: (name) => {
      const room = join(path, name);
      mkdirSync(room);
      return room;
    },
    // A program that was ended may still have written a moment ago.
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** The caller's environment without what chooses for the programs, and without `NODE_EXTRA_CA_CERTS`, which alone
 *  costs Node 20 some 50 ms at every start. HOME is `home`: whatever a program keeps there goes with it. Stages run
 *  unconfined, as plain spawns and other programs' stages do. */
export function plainEnv(
  env: Readonly<Record<string, string | undefined>>,
  home: string,
): Record<string, string> {
  const chooses =
    /^(NODE_EXTRA_CA_CERTS|NODE_OPTIONS|NODE_V8_COVERAGE|ATTRACT(OR|ION)_|FACTORY_|OPENAI_|GIT_|npm_|VITEST|XDG_)/;
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !chooses.test(name)) kept[name] = value;
  return { ...kept, HOME: home, FACTORY_SANDBOX: 'none' };
}
