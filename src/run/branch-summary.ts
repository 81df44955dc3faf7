/** Counts the branches of a run, and keeps what each did last. */
import type { BranchStoppedFacts, VisitFacts } from '../core/records/journal.ts';
import type { RunResult } from '../core/records/result.ts';

type Branches = NonNullable<RunResult['branches']>;
type Branch = Branches['latest'][number];

/** Branches that a result lists. */
const mostListed = 200;

export class BranchSummary {
  readonly #latest = new Map<string, Branch>();
  readonly #ended = { completed: 0, failed: 0, cancelled: 0 };
  #all = 0;

  /** An execution, or a branch that stopped without one. */
  add(
    line:
      | Pick<VisitFacts, 'type' | 'node' | 'visit' | 'branch' | 'branch_ended' | 'fork'>
      | BranchStoppedFacts,
  ): void {
    const branch = line.branch === undefined ? undefined : this.#latest.get(line.branch);
    if (line.type === 'BranchStopped') {
      if (branch !== undefined && (line.status === 'failed' || line.status === 'cancelled'))
        this.#end(branch, { status: line.status, reason: line.reason, class: line.class ?? null });
      return;
    }
    if (branch !== undefined) {
      branch.executions += 1;
      branch.at = `${line.node}@${line.visit}`;
      if (line.branch_ended !== undefined) this.#end(branch, line.branch_ended);
    }
    // A call has one branch, which succeeds and fails with its node.
    if (line.fork === undefined || line.fork.call === true) return;
    for (const { id } of line.fork.branches) {
      this.#all += 1;
      this.#latest.delete(id);
      this.#latest.set(id, {
        ...{ id, node: line.node, join: line.fork.join, status: 'open', reason: '', class: null },
        ...{ executions: 0, at: null },
      });
    }
  }

  #end(
    branch: Branch,
    { status, reason, class: of }: Pick<Branch, 'reason' | 'class'> & { status: keyof Branches['ended'] },
  ): void {
    if (branch.status !== 'open') return;
    Object.assign(branch, { status, reason, class: of });
    this.#ended[status] += 1;
  }

  /** Undefined for a run without branches. */
  now(): Branches | undefined {
    if (this.#all === 0) return undefined;
    const latest = [...this.#latest.values()].slice(-mostListed).map((branch) => ({ ...branch }));
    return { all: this.#all, ended: { ...this.#ended }, latest };
  }
}

/** The branches for which a join has failed, with an execution that shows it. */
export const failedBranches = (
  branches: RunResult['branches'],
  join: string | null,
): readonly (Branch & { readonly at: string })[] =>
  (branches?.latest ?? []).flatMap((branch) =>
    branch.join === join && branch.status === 'failed' && branch.at !== null
      ? [{ ...branch, at: branch.at }]
      : [],
  );
