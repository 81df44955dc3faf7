/** What one needs to know of a run first, in one line. Pure. */
import { countedItems, localTime } from '../../core/amounts.ts';
import { failureLine } from '../../core/failure-excerpt.ts';
import { unreachable } from '../../core/json.ts';
import { shortJudgedWords } from '../../core/judged-words.ts';
import { type FailureStage, failureStages, stageWords } from '../../core/orders/failure-stage.ts';
import type { Context } from '../../core/outcome.ts';
import { giverWords } from '../../core/question-words.ts';
import type { WeaknessAccepted } from '../../core/records/acceptance.ts';
import { strengthWords } from '../../core/strength.ts';
import type { WeakJudge } from '../../core/weak-judge.ts';
import { printed } from '../../run/result.ts';
import type { RunSummary } from '../../run/summary.ts';
import type { RunRow } from './run-row.ts';

export type HeadlineFacts = {
  readonly summary: Pick<RunSummary, 'status' | 'reason' | 'nextNode' | 'failedNode' | 'wakeAt' | 'cut'>;
  /** Of its checkpoint. */
  readonly context: Context;
  readonly progress: RunRow['progress'];
  /** What the node that runs now does; undefined where nothing says. */
  readonly does?: string | undefined;
  /** What it asks a person. */
  readonly question?: RunRow['question'];
  /** How many questions it asks. */
  readonly questions?: number;
  /** How many of its branches have ended, in words. */
  readonly branches?: string;
  /** What the running node waits for. */
  readonly waiting?: string;
  /** What a completed run has made. */
  readonly commits: number;
  readonly judged?: Parameters<typeof shortJudgedWords>[0] | undefined;
  /** That no scenario has judged it. */
  readonly unjudged?: string | undefined;
  readonly steps: number;
  /** Its scenarios are too weak, and whether a person has accepted that. */
  readonly weak?: WeakJudge | undefined;
  readonly accepted?: WeaknessAccepted | undefined;
};

export function headlineOf(facts: HeadlineFacts): string {
  const { status, nextNode, wakeAt, reason } = facts.summary;
  const again = wakeAt === null ? '' : ` until ${localTime(wakeAt)}`;
  switch (status) {
    case 'running':
      return [
        nextNode,
        facts.waiting ?? facts.does ?? '',
        facts.branches ?? '',
        facts.question == null ? '' : `asks: ${asked(facts.question, facts.questions)}`,
      ]
        .filter((word) => word !== '')
        .join(' · ');
    case 'completed':
      return made(facts);
    case 'overridden':
      return reason;
    case 'failed':
      return failure(facts);
    case 'interrupted':
      return nextNode === ''
        ? 'interrupted'
        : `interrupted ${facts.summary.cut ? 'at' : 'before'} ${nextNode}`;
    case 'crashed':
      return nextNode === '' ? 'crashed' : `crashed at ${nextNode}`;
    case 'paused_quota':
      return wakeAt === null ? 'quota, continues only by hand' : `quota${again}`;
    case 'paused_outage':
      return wakeAt === null ? 'provider down' : `provider down, next try at ${localTime(wakeAt)}`;
    case 'paused_auth':
      return 'key or login refused';
    case 'paused_billing':
      return 'account needs billing';
    case 'paused_disk':
      return 'disk full';
    case 'paused_wait':
      return wakeAt === null ? 'waits' : `waits until ${localTime(wakeAt)}`;
    case 'paused_cap':
      return `cap per day reached${again}`;
    case 'paused_answer':
      return asked(facts.question, facts.questions);
    case 'unreadable':
      return reason === '' ? 'files damaged, missing or not readable' : reason;
    default:
      return unreachable(status);
  }
}

function asked(question: RunRow['question'] = null, questions = 1): string {
  if (question === null) return 'needs an answer';
  const { answer, text } = question;
  const more = questions > 1 ? ` (and ${countedItems(questions - 1, 'more question')})` : '';
  return answer === null ? `${text}${more}` : `answered ${giverWords(answer)}: ${answer.words}; not resumed`;
}

function made({ commits, judged, unjudged, steps }: HeadlineFacts): string {
  const parts = [
    ...(commits === 0 ? [] : [countedItems(commits, 'commit')]),
    ...(judged === undefined ? [] : [shortJudgedWords(judged)]),
  ];
  const done = parts.length > 0 ? parts.join(', ') : `${countedItems(steps, 'node')} done`;
  return unjudged === undefined ? done : `${done}, but ${unjudged}`;
}

function failure({ summary, context, progress, weak, accepted }: HeadlineFacts): string {
  if (weak !== undefined)
    return `${weak.node}: the scenarios are too weak: ${strengthWords(weak.strength)}${accepted === undefined ? '' : `; accepted by ${accepted.who}`}`;
  const { reason, failedNode } = summary;
  const own = context['last_failure.node_id'] === failedNode && reason.includes(lastReason(context));
  const line = failedNode !== '' && own ? failureLine(outputGiven(context, failedNode)) : undefined;
  const stage = context['order.stage'];
  const current = progress?.current ?? undefined;
  if (current !== undefined && own && isStage(stage))
    return `${current} ${stageWords(stage)}: ${line ?? lastReason(context)}`;
  return own ? `${failedNode}: ${line ?? lastReason(context)}` : reason;
}

const isStage = (word: unknown): word is FailureStage => failureStages.some((stage) => stage === word);

const lastReason = (context: Context): string => String(context['last_failure.reason'] ?? '');

/** What later nodes were given of the output of the node that failed last; of a verification without the command and its exit code, which come first. */
export const outputGiven = (context: Context, node: string): string =>
  printed({ context }, node)
    .split('\n')
    .filter(
      (line) =>
        !/^(?:command|exit_code): |^failure_class=|^(?:stderr|stdout|\w+_stderr|verification):$/.test(line),
    )
    .join('\n')
    .trim();
