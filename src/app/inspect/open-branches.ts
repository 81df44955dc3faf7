/** What the list of runs says of a run whose branches have not met yet. */
import { branchesOf, type OpenBranch, openQuestions } from '../../core/fork.ts';
import type { RunState } from '../../core/records/checkpoint.ts';
import type { Question } from '../../core/records/question.ts';
import { BranchSummary, failedBranches } from '../../run/branch-summary.ts';
import type { RunReader } from '../../run/open-run.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import type { RunRow } from './run-row.ts';

export type OpenBranches = {
  /** All that the run asks, also where it has no branches. */
  readonly questions: readonly Question[];
  /** The nodes that run, or that a resume continues with; empty where no branch is open. */
  readonly at: readonly string[];
  /** The executions that have begun and not ended. */
  readonly open: RunHistory['open'];
  /** `1 of 3 branches ended`; empty where no branch is open. */
  readonly words: string;
  /** Of a run whose join has failed: the branches for which it did. */
  readonly failed: ReturnType<typeof failedBranches>;
};

const none: OpenBranches = { questions: [], at: [], open: [], words: '', failed: [] };

/** Reads the journal of a run that may have branches (`opens`) or asks a person. */
export function openBranchesIn(reader: RunReader, status: RunRow['status'], opens: boolean): OpenBranches {
  if (status !== 'paused_answer' && (status === 'completed' || !opens)) return none;
  const history = reader.history();
  return history.ok ? openBranchesOf(history, status === 'running') : none;
}

function openBranchesOf(
  { checkpoint, open, records }: Pick<RunHistory, 'checkpoint' | 'open' | 'records'>,
  runs: boolean,
): OpenBranches {
  const failed = runs ? [] : failedIn({ checkpoint, records });
  const questions = openQuestions(checkpoint);
  const branches = branchesOf(checkpoint);
  if (branches.length === 0) return { questions, at: [], open, words: '', failed };
  const began = open.map(({ node }) => node);
  return {
    questions,
    at: runs && began.length > 0 ? began : nextNodes(checkpoint, branches),
    ...{ open, words: endedWords(branches), failed },
  };
}

/** The branches for which the join that failed last did. */
export function failedIn({
  checkpoint,
  records,
}: Pick<RunHistory, 'checkpoint' | 'records'>): OpenBranches['failed'] {
  const { last_failure: last } = checkpoint;
  if (last === null) return [];
  const summary = new BranchSummary();
  for (const record of records) if (record.type !== 'Start') summary.add(record);
  return failedBranches(summary.now(), last.node);
}

/** Of branches that have not ended, those of a call too; a branch with open branches continues with theirs. */
function nextNodes({ next_node }: Pick<RunState, 'next_node'>, branches: readonly OpenBranch[]): string[] {
  const open = branches.filter(({ cursor }) => cursor.ended === undefined && cursor.fork === undefined);
  const nodes = open.flatMap(({ cursor }) => cursor.next_node ?? []);
  return nodes.length > 0 || next_node === null ? nodes : [next_node];
}

/** Calls are not counted: each has one branch. */
function endedWords(branches: readonly OpenBranch[]): string {
  const counted = branches.filter(({ fork }) => fork.call === undefined);
  const ended = counted.filter(({ cursor }) => cursor.ended !== undefined).length;
  return counted.length === 0 ? '' : `${ended} of ${counted.length} branches ended`;
}

const mostNamed = 3;

/** `a, b, c and 2 more` */
export const nodesWords = (nodes: readonly string[]): string => {
  const more = nodes.length - mostNamed;
  return more > 0 ? `${nodes.slice(0, mostNamed).join(', ')} and ${more} more` : nodes.join(', ');
};
