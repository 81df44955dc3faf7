/** The stub: answers every task at once and does nothing, for dry runs of a pipeline's shape. It has to be asked for
 *  by name; nothing ever falls back on it, and its notes say that no work was done. */
import type { Agent } from './agent.ts';

export function stubAgent(): Agent {
  return {
    name: 'stub',
    free: true,
    describe: 'stub: does nothing and reports that',
    async work(_task, signal) {
      if (signal.aborted) return { kind: 'cancelled' };
      return {
        kind: 'finished',
        outcome: 'success',
        label: '',
        suggested: [],
        notes: 'stub agent: nothing was done, no real backend ran',
        reason: '',
        updates: {},
        response: undefined,
      };
    },
  };
}
