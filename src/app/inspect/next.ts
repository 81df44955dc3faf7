/** Which runs need attention, and the command to run next for each. */
import { raisedLimit } from '../../core/budget/limits.ts';
import { retriesUnfixable } from '../../core/gates.ts';
import { unreachable } from '../../core/json.ts';
import type { RunSummary } from '../../store/runs.ts';

export const needsAttention = (status: RunSummary['status']): boolean =>
  status !== 'completed' && status !== 'running';

/** The next command for a run that needs attention; `run` is its id or path on the command line. */
export function nextOf(
  {
    status,
    nextNode,
    failedNode,
    reason,
    offline,
  }: Pick<RunSummary, 'status' | 'nextNode' | 'failedNode' | 'reason' | 'offline'>,
  program: string,
  run: string,
): string {
  switch (status) {
    case 'interrupted':
    case 'crashed':
    case 'paused_auth':
    case 'paused_billing':
      return `${program} resume ${run}`;
    case 'paused_quota':
    case 'paused_outage':
      return `${program} resume ${run} --wait`;
    case 'failed':
      if (failedNode !== '' && retriesUnfixable(reason))
        return `${program} fork ${run} --at ${failedNode} --before`;
      if (nextNode !== '')
        return [`${program} resume ${run}`, offline ? '--live' : [], raisedLimit(reason) ?? []]
          .flat()
          .join(' ');
      if (reason.startsWith('audit: ')) return `${program} audit ${run}`;
      return failedNode === '' ? `${program} why ${run}` : `${program} show ${run} ${failedNode}`;
    case 'unreadable':
      return `${program} verify ${run}`;
    case 'completed':
    case 'running':
      return '';
    default:
      return unreachable(status);
  }
}
