/** Which of the buttons of a run does its first action. Pure. */
import type { RunRow } from '../../../app/inspect/run-row.ts';

/** Null where no button does it: a file has to be changed before, a new run is started, or a command shows more. */
export function firstAct({
  action,
  acts,
}: Pick<RunRow, 'action' | 'acts'>): 'resume' | 'fork' | 'deliver' | null {
  const act = actOf(action);
  return act !== null && acts.includes(act) ? act : null;
}

function actOf(action: RunRow['action']): 'resume' | 'fork' | 'deliver' | null {
  switch (action?.kind) {
    case 'continue':
      // The button takes no flags: a raised limit, `--live` and `--accept-changes` are of the command.
      return / resume \S+(?: --wait)?$/.test(action.command) ? 'resume' : null;
    case 'fork':
      return 'fork';
    case 'deliver':
      return 'deliver';
    default:
      return null;
  }
}

/** The execution where its fork begins, if it names one. */
export function forkPlace({ action }: Pick<RunRow, 'action'>): { readonly at?: string } {
  const at = action?.kind === 'fork' ? / --at (\S+@\d+) /.exec(`${action.command} `)?.[1] : undefined;
  return at === undefined ? {} : { at };
}
