/** What a person can do after a run has ended or is suspended: one table for the list, `why`, the page and the notice. Pure. */
import { type NextAction, resumeAction, type StoodRun, type TypedRun } from './action-commands.ts';
import { afterFailure } from './after-failure.ts';
import { unreachable } from './json.ts';
import { isPaused, type PausedWord } from './outcome.ts';
import { raisedWindows } from './quota-windows.ts';

/** The actions for a run that needs attention, the first one best; none for any other. No command ends in the same way again while
 *  nothing else has changed. */
export function nextActions(stood: StoodRun, typed: TypedRun): readonly NextAction[] {
  const { status } = stood;
  if (isPaused(status)) return afterSuspension(status, stood, typed);
  const { program, run } = typed;
  switch (status) {
    case 'interrupted':
    case 'crashed':
      return [resumeAction(typed, 'Continue: finished executions are kept')];
    case 'failed':
      return afterFailure(stood, typed);
    case 'unreadable':
      return [{ kind: 'look', words: 'See which records are damaged', command: `${program} verify ${run}` }];
    case 'overridden':
      return [
        {
          kind: 'look',
          words: 'See which failure was overridden, and by whom',
          command: `${program} why ${run}`,
        },
      ];
    case 'completed':
    case 'running':
      return [];
    default:
      return unreachable(status);
  }
}

/** What to do before a suspended run can continue. */
export const suspensionWords: Readonly<Record<PausedWord, string>> = {
  paused_quota: 'Wait: the command waits for the quota and resumes (--now tries at once)',
  paused_outage: 'Wait: the command tries until the provider is back; without --wait it tries at once',
  paused_auth: 'Set the key or the login that the reason names to one that is accepted, then resume',
  paused_disk: 'Make room on that disk (files, or a larger quota), then resume',
  paused_wait: 'Wait: the command waits until then and resumes',
  paused_cap:
    'Wait: the command waits for the next day and resumes; or raise the cap (factory queue set), then resume',
  paused_answer: 'Answer the question: the run then resumes',
  paused_billing: "See the plan and the billing of the key's account, then resume",
};

function afterSuspension(status: PausedWord, stood: StoodRun, typed: TypedRun): readonly NextAction[] {
  const words = suspensionWords[status];
  switch (status) {
    case 'paused_auth':
    case 'paused_billing':
    case 'paused_disk':
      return [resumeAction(typed, words)];
    case 'paused_answer':
      return stood.answered === true
        ? [resumeAction(typed, 'Continue with the answer that was given')]
        : [{ kind: 'answer', words, command: `${typed.program} answer ${typed.run}` }];
    case 'paused_quota': {
      const raised = raisedWindows(stood.reason);
      return [
        raised === undefined
          ? resumeAction(typed, words, '--wait')
          : resumeAction(typed, 'Continue, with twice as many resets of the quota to wait for', raised),
      ];
    }
    case 'paused_outage':
    case 'paused_wait':
    case 'paused_cap':
      return [resumeAction(typed, words, '--wait')];
    default:
      return unreachable(status);
  }
}
