/** The sandboxes that scenarios get on this machine. */
import { delimiter, isAbsolute } from 'node:path';
import { certificatesIn } from '../policy/confinement.ts';
import { confineScenario } from '../policy/scenario-sandbox.ts';
import type { Environment } from '../system/git.ts';
import { ladderOf } from '../system/sandbox/ladder.ts';
import { confining } from '../system/sandbox/spawn.ts';
import type { Spawn } from '../system/spawn.ts';
import type { Doors } from './phase.ts';

/** The spawn that makes them, and the sandbox or why there is none. `judge`: folders of holdout files. */
export async function sandboxHere(
  spawn: Spawn,
  env: Environment,
  judge: readonly string[],
): Promise<Pick<Doors, 'spawn' | 'sandbox' | 'noSandbox'>> {
  if (env['FACTORY_SANDBOX']?.trim() === 'none') return { spawn, noSandbox: 'FACTORY_SANDBOX=none' };
  const ladder = await ladderOf(env);
  if ('missing' in ladder.bwrap) return { spawn, noSandbox: ladder.bwrap.missing };
  const home = env['HOME'];
  const machine = {
    path: (env['PATH'] ?? '').split(delimiter).filter(isAbsolute),
    home: home !== undefined && isAbsolute(home) ? home.replace(/(?<=.)\/+$/, '') : undefined,
    node: process.execPath,
    certificates: certificatesIn(env),
    bind: (env['FACTORY_SANDBOX_BIND'] ?? '').split(',').flatMap((word) => word.trim() || []),
    judge,
  };
  return {
    spawn: confining(spawn, ladder),
    sandbox: {
      confine: (inside, scratch) => confineScenario(machine, inside, scratch),
      node: machine.node,
    },
  };
}
