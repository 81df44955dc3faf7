/** Limits for mutants: they may start processes without end, fill the disk and delete what they can reach. */
import { lstatSync, readdirSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Confinement } from '../../core/contracts/sandbox.ts';
import { defaultLimits } from '../../core/policy/confinement.ts';
import { environmentWithSecrets, namedSecrets } from '../../core/policy/secrets.ts';
import type { PhaseHost } from '../launch/product.ts';

const mebibyte = 1024 ** 2;
/** Bytes of one file. */
const mostOfFile = 256 * mebibyte;
/** What a mutant may use more than the product without one. */
const diskMargin = { bytes: 512 * mebibyte, files: 100_000 };
/** Bytes; with less, programs fail for want of space. */
const leastFree = 16 * mebibyte;
/** Of one sandbox, threads too. Compilers start some for each core. */
export const mostProcesses = Math.max(200, 16 * availableParallelism());

/** The same host without secrets; its sandboxes show nothing that can be written except the judgement's own folders. */
export function limitedHost(host: PhaseHost): PhaseHost {
  const named = namedSecrets(host.env);
  const { env } = environmentWithSecrets(host.env, { named: 'names' in named ? named.names : [] });
  const { sandbox } = host;
  if (sandbox === undefined) return { ...host, env };
  const { processes: processesOfUser } = defaultLimits;
  const limits = {
    ...defaultLimits,
    ...{ fileSize: mostOfFile, lastInTurn: true },
    ...{ processes: mostProcesses, processesConfigured: true, processesOfUser },
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
/** Looking through many files holds up everything else: it may take this part of the time. */
const lookShare = 0.1;

export type DiskUse = { readonly bytes: number; readonly files: number };

/** What of a disk counts. */
type FreeSpace = Readonly<Record<'bavail' | 'bsize' | 'ffree', number>>;

/** Runs `act` with a signal that fires with the host's, and when the judgement is to end. `full`: it has used too much. `short`: the
 *  disk has no space left, for whatever reason. */
export type DiskWatch = <T>(
  folder: string,
  host: Pick<PhaseHost, 'clock' | 'signal'>,
  act: (signal: AbortSignal) => Promise<T>,
) => Promise<{ readonly value: T; readonly disk: 'enough' | 'short' | 'full' }>;

/** Measures what folders have at most. */
export function measuredDisk(): { readonly watch: DiskWatch; readonly most: () => DiskUse } {
  let most: DiskUse = { bytes: 0, files: 0 };
  const watch: DiskWatch = async (folder, host, act) => {
    const look = (): void => {
      const use = useOf(folder);
      most = { bytes: Math.max(most.bytes, use.bytes), files: Math.max(most.files, use.files) };
    };
    const value = await watched(host, act, look);
    look();
    return { value, disk: 'enough' };
  };
  return { watch, most: () => most };
}

/** Ends what makes its folder grow by more than `margin` beyond the use that is usual. */
export function limitedDisk(
  usual: DiskUse,
  margin: DiskUse = diskMargin,
  freeOf: (folder: string) => FreeSpace = statfsSync,
): DiskWatch {
  const most = { bytes: usual.bytes + margin.bytes, files: usual.files + margin.files };
  return async (folder, host, act) => {
    const before = freeOf(folder);
    let [isFull, isShort] = [false, false];
    const free = (): FreeSpace => {
      const now = freeOf(folder);
      isShort ||= now.bavail * now.bsize < leastFree;
      return now;
    };
    const value = await watched(host, act, (end) => {
      const now = free();
      // Others use the disk too: only then the folder is looked through.
      const isSuspect =
        (before.bavail - now.bavail) * now.bsize > margin.bytes / 2 ||
        before.ffree - now.ffree > margin.files / 2;
      if (!isSuspect || !isMore(useOf(folder, most), most)) return;
      isFull = true;
      end();
    });
    free();
    return { value, disk: isFull ? 'full' : isShort ? 'short' : 'enough' };
  };
}

/** Looks now and then while `act` runs. */
async function watched<T>(
  { clock, signal }: Pick<PhaseHost, 'clock' | 'signal'>,
  act: (signal: AbortSignal) => Promise<T>,
  look: (end: () => void) => void,
): Promise<T> {
  const [ended, over] = [new AbortController(), new AbortController()];
  const watch = async (): Promise<void> => {
    for (let ms = lookMs; ; ) {
      await clock.sleep(ms, over.signal);
      if (over.signal.aborted) return;
      const began = clock.monotonic();
      look(() => ended.abort());
      ms = Math.max(lookMs, (clock.monotonic() - began) / lookShare);
    }
  };
  const watching = watch();
  try {
    return await act(AbortSignal.any([signal, ended.signal]));
  } finally {
    over.abort();
    await watching;
  }
}

const isMore = (use: DiskUse, most: DiskUse): boolean => use.bytes > most.bytes || use.files > most.files;

/** What the folder has; no more is counted once it is more than `most`. */
function useOf(folder: string, most?: DiskUse): DiskUse {
  let [bytes, files] = [0, 0];
  const folders = [folder];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const entry of entriesIn(at)) {
      files += 1;
      if (entry.isDirectory()) folders.push(join(at, entry.name));
      else bytes += (lstatSync(join(at, entry.name), { throwIfNoEntry: false })?.blocks ?? 0) * 512;
      if (most !== undefined && isMore({ bytes, files }, most)) return { bytes, files };
    }
  }
  return { bytes, files };
}

function entriesIn(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Removed meanwhile, or without permissions.
    return [];
  }
}
