/** How the run of a job stands, by its own records and its lock. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { stoppedBy } from '../app/stop.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { nextNodes, openQuestions, suspensions } from '../core/fork.ts';
import { own } from '../core/json.ts';
import { isPaused, type PausedWord } from '../core/outcome.ts';
import { questionIdOf } from '../core/records/question.ts';
import { answerTo } from '../run/answer-files.ts';
import { latestLock } from '../run/lock.ts';
import { openRun } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { workerOf } from '../run/run-worker.ts';
import { type RunSummary, summaryOf } from '../run/summary.ts';
import type { RunStanding } from './job-end.ts';

/** `execution`: what comes next or is at work, `NODE@VISIT`, of branches joined by commas; empty where nothing is recorded. */
export type StandingRun = { readonly standing: RunStanding; readonly execution: string };

/** How often a run is read again that changes while it is read. */
const mostReads = 5;

export async function standingOfRun(runsDir: string, id: string, clock: Clock): Promise<StandingRun> {
  const dir = join(runsDir, id);
  for (let reads = 1; ; reads++) {
    if (!existsSync(dir)) return { standing: { kind: 'absent' }, execution: '' };
    const summary = await summaryOf(id, dir, clock);
    const worker = workerOf(dir, clock, false);
    if (worker.kind !== 'none') {
      const here = worker.kind === 'here';
      const why = here ? `process ${worker.id.pid} executes it` : worker.why;
      return { standing: { kind: 'owned', here, why }, execution: '' };
    }
    const read = openRun(dir).history();
    const execution = read.ok ? executionsOf(read) : '';
    // Its process has ended between two looks.
    if (summary.status === 'running' && reads < mostReads) continue;
    return { standing: standingAs(summary, read.ok ? read : undefined), execution };
  }
}

function standingAs({ status, dir, reason }: RunSummary, history: RunHistory | undefined): RunStanding {
  switch (status) {
    case 'completed':
    case 'overridden':
    case 'failed':
      return { kind: 'ended', status, whole: isReleased(dir) };
    case 'interrupted':
      return { kind: 'interrupted', by: stoppedBy(dir) };
    case 'crashed':
    case 'running':
      return { kind: 'crashed', execution: history === undefined ? '' : executionsOf(history) };
    case 'unreadable':
      return { kind: 'unreadable', why: reason === '' ? 'its records cannot be read' : reason };
    default:
      return suspendedAs(dir, status, reason, history);
  }
}

function suspendedAs(
  dir: string,
  status: PausedWord,
  reason: string,
  history: RunHistory | undefined,
): RunStanding {
  const state = history?.checkpoint;
  const questions = state === undefined ? [] : openQuestions(state);
  const times = [
    ...(state === undefined ? [] : suspensions(state)).map(({ wake_at }) => wake_at),
    ...questions.map(({ deadline }) => deadline),
  ].filter((time) => time !== null);
  const [dueAt] = times.sort((a, b) => Date.parse(a) - Date.parse(b));
  const answered = questions.some((question) => answerTo(dir, question) !== undefined);
  return { kind: 'suspended', status, reason, dueAt, answered };
}

/** Whether a question of a suspended run has an answer that no engine has taken yet. */
export function isAnswered(dir: string): boolean {
  const read = openRun(dir).history();
  return (
    read.ok &&
    isPaused(read.checkpoint.status) &&
    openQuestions(read.checkpoint).some((question) => answerTo(dir, question) !== undefined)
  );
}

/** An owner releases the run when all of its records are written. */
function isReleased(dir: string): boolean {
  const read = latestLock(dir)?.read;
  return read?.kind === 'read' && read.lock.released !== null;
}

const executionsOf = ({ checkpoint }: RunHistory): string =>
  nextNodes(checkpoint)
    .map(({ node }) => questionIdOf(node, (own(checkpoint.visits, node) ?? 0) + 1))
    .join(',');
