/** Looks for requests to stop a run while this process has it. */

import type { Every } from '../../core/contracts/clock.ts';
import { StopByRequest, type StopRequest } from '../../core/records/stop-request.ts';
import { readStopRequest, removeStopRequest } from '../../run/stop-request.ts';
import type { Host } from '../types.ts';

/** Milliseconds between two looks. */
const lookMs = 500;

export type StopWatch = {
  /** The request to this owner, if there is one; asked before each execution. */
  asked(): StopRequest | undefined;
  /** From now on this process executes the run, as the owner with this epoch. */
  began(epoch: number): void;
  /** It executes the run no longer, and may wait to resume it. */
  ended(): void;
  close(): void;
};

/** The process that executes a run, with its watch. */
export type WatchedHost = Host & { readonly stops: StopWatch };

/** The host of a run that also stops on requests: its signal fires on one that is to be followed at once, and on any while no node is
 *  executed. */
export function watchStops(runDir: string, host: Host, every: Every): WatchedHost {
  const stop = new AbortController();
  let epoch: number | undefined;
  let executes = false;
  let found: StopRequest | undefined;

  const look = (): StopRequest | undefined => {
    if (epoch === undefined || stop.signal.aborted) return found;
    const read = readStopRequest(runDir);
    if (read !== undefined && read.epoch === epoch) {
      if (found === undefined && read.after_node && executes)
        host.log('warn', 'stopping after the nodes that run now', { by: read.by });
      found = read;
    }
    if (found !== undefined && !(found.after_node && executes)) stop.abort(new StopByRequest(found));
    return found;
  };
  const remove = (): void => {
    if (found !== undefined) removeStopRequest(runDir, found.epoch);
  };
  const over = every(lookMs, look);
  const stops: StopWatch = {
    asked: look,
    began(now) {
      epoch = now;
      executes = true;
      removeStopRequest(runDir, now - 1);
    },
    ended() {
      look();
      executes = false;
      look();
      remove();
    },
    close() {
      over();
      remove();
    },
  };
  return { ...host, signal: AbortSignal.any([host.signal, stop.signal]), stops };
}
