/** Flushes the artifacts of nodes during a run. A commit does not wait for it; a power cut may
 *  lose what is not flushed yet, about the last second. */
import { join } from 'node:path';
import type { Every } from '../core/contracts/clock.ts';
import { nodeLayout } from '../core/records/layout.ts';
import { realEvery } from '../platform/clock.ts';
import { settleTree } from '../platform/files/flush-tree.ts';
import type { Closing } from './journal.ts';

/** Milliseconds between two flushes. */
const periodMs = 1000;

export interface BackgroundFlush extends Closing {
  /** The files of a node's execution, which has ended. Throws the disk's error of an earlier flush. */
  add(nodeDir: string, visit: number): void;
  /** Settles when everything that was added is flushed. */
  now(): Promise<void>;
}

/** Closing it flushes nothing: the end of the run flushes everything. */
export function backgroundFlush(every: Every = realEvery): BackgroundFlush {
  let pending: { readonly dir: string; readonly visit: number }[] = [];
  let running: Promise<void> | undefined;
  let failed: { readonly error: unknown } | undefined;
  const flush = async (): Promise<void> => {
    const places = placesOf(pending);
    pending = [];
    await settleTree(...places);
  };
  const stop = every(periodMs, () => {
    if (pending.length === 0 || running !== undefined) return;
    running = flush()
      .catch((error: unknown) => {
        failed = { error };
      })
      .finally(() => {
        running = undefined;
      });
  });
  const check = (): void => {
    if (failed !== undefined) throw failed.error;
  };
  return {
    add(dir, visit) {
      check();
      pending.push({ dir, visit });
    },
    async now() {
      await running;
      check();
      await flush();
    },
    async close() {
      stop();
      await running;
      check();
    },
  };
}

/** The folders of executions, and those of which only the entries are flushed. */
function placesOf(batch: readonly { readonly dir: string; readonly visit: number }[]): [string[], string[]] {
  const folders = new Set<string>();
  const closed = new Set<string>();
  for (const { dir, visit } of batch) {
    const { visits } = nodeLayout(dir);
    folders.add(dir);
    closed.add(visits);
    // The next execution moves the files there.
    if (visit > 1) folders.add(join(visits, String(visit - 1)));
  }
  return [[...folders], [...closed]];
}
