/** Limits for mutants: they may start processes without end, fill the disk and delete what they can reach. */
import { lstatSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/contracts/clock.ts';
import type { Confinement } from '../../core/contracts/sandbox.ts';
import { defaultLimits } from '../../core/policy/confinement.ts';
import { environmentWithSecrets, namedSecrets } from '../../core/policy/secrets.ts';
import type { PhaseHost } from '../launch/product.ts';

const mebibyte = 1024 ** 2;
/** Bytes of one file, and what a judgement may add to the disk in all. */
const most = { file: 256 * mebibyte, disk: 512 * mebibyte };
/** Only root's are counted by sandbox; those of another user together with all that the user runs. */
const mostProcesses = 1000;

/** The same host without secrets; its sandboxes show nothing that can be written except the judgement's own folders. */
export function limitedHost(host: PhaseHost): PhaseHost {
  const named = namedSecrets(host.env);
  const { env } = environmentWithSecrets(host.env, { named: 'names' in named ? named.names : [] });
  const { sandbox } = host;
  if (sandbox === undefined) return { ...host, env };
  const isRoot = process.getuid?.() === 0;
  const limits = {
    ...defaultLimits,
    fileSize: most.file,
    ...(isRoot ? { processes: mostProcesses, processesConfigured: true } : {}),
  };
  const limited = (confinement: Confinement): Confinement => ({
    ...confinement,
    limits,
    binds: confinement.binds.map((bind) => ({ ...bind, write: false })),
  });
  return {
    ...host,
    env,
    sandbox: { ...sandbox, confine: (inside, places) => limited(sandbox.confine(inside, places)) },
  };
}

/** Time between two looks at the disk. */
const lookMs = 250;

export type DiskUse = { readonly bytes: number; readonly files: number };

/** Runs `act` with a signal that fires with the host's, and when the folder has grown by too much more than `usual`: then `isFull`. */
export async function withinDisk<T>(
  folder: string,
  usual: DiskUse,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  act: (signal: AbortSignal) => Promise<T>,
): Promise<{ readonly value: T; readonly isFull: boolean }> {
  const [full, over] = [new AbortController(), new AbortController()];
  const before = statfsSync(folder);
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await clock.sleep(lookMs, over.signal);
      const now = statfsSync(folder);
      // Others use the disk too: only then the folder is looked through.
      const isSuspect =
        (before.bavail - now.bavail) * now.bsize > most.disk / 2 || before.ffree - now.ffree > mostFiles / 2;
      if (!over.signal.aborted && isSuspect && isLarge(folder, usual)) full.abort();
    }
  };
  const watched = watch();
  try {
    const value = await act(AbortSignal.any([signal, full.signal]));
    return { value, isFull: full.signal.aborted };
  } finally {
    over.abort();
    await watched;
  }
}

const mostFiles = 100_000;

function isLarge(folder: string, usual: DiskUse): boolean {
  let [bytes, files] = [0, 0];
  const folders = [folder];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const entry of entriesIn(at)) {
      files += 1;
      if (entry.isDirectory()) folders.push(join(at, entry.name));
      else bytes += (lstatSync(join(at, entry.name), { throwIfNoEntry: false })?.blocks ?? 0) * 512;
      if (bytes > usual.bytes + most.disk || files > usual.files + mostFiles) return true;
    }
  }
  return false;
}

function entriesIn(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Removed meanwhile, or without permissions.
    return [];
  }
}
