/** What a person can do after setup commands have failed before a node. Pure. */
import { commandToFork, type NextAction, type StoodRun, type TypedRun } from './action-commands.ts';
import { quoteWord } from './policy/words.ts';

/** The file that names them, or undefined. */
export const failedSetup = (reason: string): string | undefined =>
  /(?:^|: )setup: "(?:[^"\\]|\\.)*" of (.*?\/factory\.json) (?:ended|was|is|cannot) /.exec(reason)?.[1];

/** They are not of the pipeline; the run and its plain forks keep those with which they began. */
export function afterSetup(file: string, stood: StoodRun, typed: TypedRun): NextAction {
  const { failedNode, failureClass, resumable } = stood;
  const and = failureClass === 'infra' ? ', or what it needs' : '';
  const limit = failureClass === 'timeout' ? ', or raise default_timeout of the pipeline' : '';
  const again = resumable ? 'continue' : `execute ${failedNode} again in a fork`;
  const command = resumable ? `${typed.program} resume ${typed.run}` : commandToFork(typed, failedNode);
  return {
    kind: 'edit',
    words: `Fix "setup" in ${quoteWord(file)}${and}${limit}, then ${again}`,
    command: `${command} --accept-changes`,
    after: `fixing "setup" in ${quoteWord(file)}${and}`,
  };
}
