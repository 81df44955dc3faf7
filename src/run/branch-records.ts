/** The events that lines of the journal give of branches, and of the questions that they may ask. Pure. */
import type { EventFacts } from '../core/events.ts';
import type { BranchEnd } from '../core/records/fork.ts';
import type { BranchStoppedFacts, VisitFacts } from '../core/records/journal.ts';
import type { Question } from '../core/records/question.ts';

/** The field of a record about a node in a branch. */
export const branchField = (branch: string | undefined): { readonly branch?: string } =>
  branch === undefined ? {} : { branch };

/** The branches that an execution joins, the end of its branch, and the branches that it opens. */
export const parallelOf = (record: VisitFacts): readonly EventFacts[] => [
  ...joinedBy(record),
  ...(record.branch === undefined || record.branch_ended === undefined
    ? []
    : [branchEnded(record.branch, record.branch_ended)]),
  ...openedBy(record),
];

function joinedBy({ node: join, branch, outcome, joined: node_id }: VisitFacts): readonly EventFacts[] {
  if (node_id === undefined) return [];
  // Of a call it is an exit of the called pipeline, whose ids begin with that of the call.
  const called = join.startsWith(`${node_id}.`) ? { call: true as const } : {};
  const { status } = outcome;
  return [{ type: 'ParallelCompleted', node_id, ...branchField(branch), join, status, ...called }];
}

function openedBy({ node: node_id, visit, branch, fork }: VisitFacts): readonly EventFacts[] {
  if (fork === undefined) return [];
  const { join, call } = fork;
  const branches = fork.branches.map(({ id }) => id);
  const called = call === undefined ? {} : { call };
  return [{ type: 'ParallelStarted', node_id, ...branchField(branch), visit, join, branches, ...called }];
}

const branchEnded = (branch: string, { status, reason, class: of }: Omit<BranchEnd, 'ok'>): EventFacts => ({
  type: 'BranchCompleted',
  branch,
  status,
  reason,
  ...(of === null ? {} : { failure_class: of }),
});

/** Of a branch that stopped without a finished execution. */
export function branchStopOf(line: BranchStoppedFacts): readonly EventFacts[] {
  const { branch, status, reason, parked, question } = line;
  if (status === 'failed' || status === 'cancelled')
    return [branchEnded(branch, { status, reason, class: line.class ?? null })];
  const { node: node_id = branch, wake_at = null } = parked ?? {};
  return [...askedOf(question, branch), { type: 'BranchParked', branch, status, node_id, reason, wake_at }];
}

/** The question that a human gate asks. */
export function askedOf(question: Question | undefined, branch?: string): readonly EventFacts[] {
  if (question === undefined) return [];
  const { id, node: node_id, text, options, deadline } = question;
  const about = { node_id, ...branchField(branch), question: id, text };
  return [{ type: 'InterviewStarted', ...about, options: options.map(({ label }) => label), deadline }];
}
