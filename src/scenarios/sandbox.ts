/** The sandboxes that scenarios get on this machine. */
import { isAbsolute } from 'node:path';
import type { Environment, Spawn } from '../core/contracts/process.ts';
import { certificatesIn, toolchainsIn } from '../core/policy/confinement.ts';
import { confineScenario } from '../core/policy/scenario-sandbox.ts';
import { type SandboxCapabilities, sandboxCapabilities } from '../platform/sandbox/capabilities.ts';
import { canEnter, type Loopback, openLoopback } from '../platform/sandbox/loopback.ts';
import { programFolders } from '../platform/sandbox/program-folders.ts';
import { confining } from '../platform/sandbox/spawn.ts';
import type { PhaseHost, ScenarioSandbox } from './launch/product.ts';

/** The spawn that makes them, and the sandbox or why there is none. `judge`: folders of holdout files. */
export async function sandboxHere(
  spawn: Spawn,
  env: Environment,
  judge: readonly string[],
): Promise<Pick<PhaseHost, 'spawn' | 'sandbox' | 'noSandbox'>> {
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
      confine: (inside, places) => confineScenario(machine, inside, places),
      node: machine.node,
      ...(await networksHere(ladder, env)),
    },
  };
}

/** What makes the networks of scenarios, or why they have the machine's. */
async function networksHere(
  ladder: SandboxCapabilities,
  env: Environment,
): Promise<Pick<ScenarioSandbox, 'openNetwork' | 'noNetwork'>> {
  const openNetwork = (): Promise<Loopback | { readonly missing: string }> => openLoopback(ladder, env);
  const tried = await openNetwork();
  if ('missing' in tried) return { noNetwork: tried.missing };
  const works = await canEnter(tried, ladder, env);
  tried.close();
  return works ? { openNetwork } : { noNetwork: 'bubblewrap cannot start in a network that it has not made' };
}
