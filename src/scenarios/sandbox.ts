/** The sandboxes that scenarios get on this machine. */
import { isAbsolute } from 'node:path';
import type { Environment, Spawn } from '../core/contracts/process.ts';
import { certificatesIn, toolchainsIn } from '../core/policy/confinement.ts';
import { confineScenario } from '../core/policy/scenario-sandbox.ts';
import { sandboxCapabilities } from '../platform/sandbox/capabilities.ts';
import { programFolders } from '../platform/sandbox/program-folders.ts';
import { confining } from '../platform/sandbox/spawn.ts';
import type { PhaseDoors } from './launch/product.ts';

/** The spawn that makes them, and the sandbox or why there is none. `judge`: folders of holdout files. */
export async function sandboxHere(
  spawn: Spawn,
  env: Environment,
  judge: readonly string[],
): Promise<Pick<PhaseDoors, 'spawn' | 'sandbox' | 'noSandbox'>> {
  if (env['FACTORY_SANDBOX']?.trim() === 'none') return { spawn, noSandbox: 'FACTORY_SANDBOX=none' };
  const ladder = await sandboxCapabilities(env);
  if ('missing' in ladder.bwrap) return { spawn, noSandbox: ladder.bwrap.missing };
  const home = env['HOME'];
  const machine = {
    path: programFolders(env['PATH'] ?? ''),
    home: home !== undefined && isAbsolute(home) ? home.replace(/(?<=.)\/+$/, '') : undefined,
    node: process.execPath,
    certificates: certificatesIn(env),
    toolchains: toolchainsIn(env),
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
