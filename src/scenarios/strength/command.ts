/** Commands that run in a copy of the product: its build and its tests. */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Exit } from '../../core/contracts/process.ts';
import { commandEnvironment, confinedEnvironment } from '../../core/policy/confinement.ts';
import { readSome } from '../../platform/files/read.ts';
import { withoutGit } from '../../platform/git.ts';
import type { PhaseHost } from '../launch/product.ts';
import { type ProductMount, productBinds } from '../sites.ts';

export type ProductCommand = {
  /** A shell command. */
  readonly command: string;
  /** The copy, in which it runs and which it may change. */
  readonly app: string;
  readonly mounts: readonly ProductMount[];
  /** A folder for what it needs besides; in a sandbox `home` in it is its home. */
  readonly scratch: string;
  readonly timeoutMs: number;
};

export type CommandEnd = {
  readonly exit: Exit;
  /** How it ended, and the last lines that it printed. */
  readonly why: string;
  /** It could not be started for lack of a sandbox, a network, a process. */
  readonly isInfra: boolean;
};

export const endedWell = (exit: Exit): boolean => exit.kind === 'exited' && exit.code === 0;

/** Runs it without the network of the machine, where there is a sandbox. */
export async function runInProduct(request: ProductCommand, host: PhaseHost): Promise<CommandEnd> {
  const { sandbox } = host;
  const network = await sandbox?.openNetwork?.();
  if (network !== undefined && 'missing' in network)
    return infra(request, `its network could not be made: ${network.missing}`);
  try {
    return await run(request, network?.entering, host);
  } finally {
    network?.close();
  }
}

const infra = ({ command }: ProductCommand, why: string): CommandEnd => ({
  exit: { kind: 'not_found', program: command, why, noRoom: true },
  why,
  isInfra: true,
});

async function run(
  { command, app, mounts, scratch, timeoutMs }: ProductCommand,
  entering: readonly string[] | undefined,
  { spawn, sandbox, env, signal }: PhaseHost,
): Promise<CommandEnd> {
  const temporary = join(scratch, 'temporary');
  await mkdir(temporary, { recursive: true });
  const marker = `command-${randomBytes(8).toString('hex')}`;
  const given = {
    ...Object.fromEntries(Object.entries(withoutGit(env)).filter(([name]) => !name.startsWith('FACTORY_'))),
    ...commandEnvironment(env),
    SCENARIO_RUN_ID: marker,
    TMPDIR: temporary,
  };
  const confinement = sandbox?.confine(productBinds(app, mounts), { scratch, entering });
  const files = [join(scratch, 'stdout'), join(scratch, 'stderr')] as const;
  const exit = await spawn.run({
    argv: ['sh', '-c', command],
    cwd: app,
    env: confinement === undefined ? given : confinedEnvironment(given, confinement),
    ...(confinement === undefined ? {} : { confinement }),
    marker: `SCENARIO_RUN_ID=${marker}`,
    stdoutFile: files[0],
    stderrFile: files[1],
    mostBytes: 256 * 1024,
    timeoutMs,
    graceMs: 0,
    signal,
  });
  const texts = await Promise.all(files.map(async (file) => (await readSome(file, 2048, 'tail')) ?? ''));
  const printed = texts.join('\n').trim().split('\n').slice(-5).join('\n');
  return {
    exit,
    why: [endWords(exit), printed].filter((text) => text !== '').join('\n'),
    isInfra: exit.kind === 'not_found' && exit.noRoom === true,
  };
}

function endWords(exit: Exit): string {
  switch (exit.kind) {
    case 'exited':
      return `exit code ${exit.code}`;
    case 'signalled':
      return `ended by ${exit.signal}`;
    case 'timed_out':
      return `it did not end within ${exit.afterMs / 1000}s`;
    case 'cancelled':
      return 'it was cancelled';
    case 'not_found':
      return `${exit.program} cannot be started: ${exit.why}`;
  }
}
