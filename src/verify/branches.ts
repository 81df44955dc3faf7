/** Each execution against the snapshot in which the one before it has left its workspace: of the run, or of its branch. */
import type { JournalLine } from '../core/records/journal.ts';
import type { Findings } from './report.ts';

/** What the lines so far have left, by branch; the empty name is the run itself. */
type Places = {
  readonly snapshots: Map<string, string | null>;
  /** Branches that a call has opened, by the branch of the call. */
  readonly callees: Map<string, string>;
};

/** The innermost call works in the workspace of its caller. */
const workerIn = (callees: Places['callees'], branch: string): string => {
  const callee = callees.get(branch);
  return callee === undefined ? branch : workerIn(callees, callee);
};

export function checkBefore(lines: readonly JournalLine[], journal: string, found: Findings): void {
  const places: Places = { snapshots: new Map(), callees: new Map() };
  const { snapshots, callees } = places;
  for (const line of lines) {
    if (line.type === 'Start') snapshots.set('', line.snapshot);
    else if (line.type === 'Resumed') snapshots.set(workerIn(callees, ''), line.snapshot);
    else if (line.type === 'Visit') {
      const should = moved(places, line);
      const is = line.setup?.before ?? line.before;
      if (should === is) continue;
      found.add(
        'contradiction',
        journal,
        `${line.node}@${line.visit} did not begin with the files before it`,
        {
          should: should ?? 'none',
          is,
        },
      );
    }
  }
}

/** The snapshot before an execution; notes what it leaves. */
function moved(
  { snapshots, callees }: Places,
  { branch = '', joined, after, fork }: Extract<JournalLine, { type: 'Visit' }>,
): string | null | undefined {
  // The exit of a called pipeline continues where that has stood.
  const before = snapshots.get(joined === undefined ? branch : workerIn(callees, branch));
  if (joined !== undefined) callees.delete(branch);
  snapshots.set(branch, after);
  for (const { id } of fork?.branches ?? []) {
    snapshots.set(id, after);
    callees.delete(id);
    if (fork?.call === true) callees.set(branch, id);
  }
  return before;
}
