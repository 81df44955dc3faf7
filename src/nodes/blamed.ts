/** Classifies the failure of a node's command. */
import type { Failure, FailureClass } from '../model/outcome.ts';
import { blame, isJudge, saidIn } from '../policy/blame.ts';
import { scenariosNamed } from '../policy/scenarios.ts';
import { head } from '../system/read.ts';
import type { Exit } from '../system/spawn.ts';
import type { NodeContext } from './kind.ts';

/** Limits in bytes: end of each stream, recorded command, text of a scenario. */
const most = { stream: 65_536, command: 500, text: 1024 * 1024 };

/** The class of the failed command's failure, how it was determined, and the exit code if there is one. */
export async function blamed(
  context: Pick<NodeContext, 'files' | 'workspace' | 'holdout'>,
  exit: Exclude<Exit, { kind: 'cancelled' }>,
  of: {
    readonly command: string;
    readonly judge: boolean;
    /** The class in `$FACTORY_OUTPUT`. */
    readonly word?: FailureClass | undefined;
    readonly stdoutName: string;
    readonly stderrName: string;
  },
): Promise<
  Required<Pick<Failure, 'class' | 'attribution' | 'classSaid' | 'command' | 'judge'>> &
    Pick<Failure, 'exitCode'>
> {
  const { command, judge, word } = of;
  const { scenarios } = context.holdout;
  const stdout = (await context.files.read(of.stdoutName, most.stream, 'tail')) ?? '';
  const stderr = (await context.files.read(of.stderrName, most.stream, 'tail')) ?? '';
  const said = word === undefined ? saidIn(stderr, stdout) : { class: word, where: '$FACTORY_OUTPUT' };
  const named = scenariosNamed(command, scenarios);
  const read = await Promise.all(named.map((path) => context.workspace.read(path, most.text)));
  const texts = read.filter((text) => text !== undefined);
  const attribution = blame({ said, exit, command, scenarios, judge, stdout, stderr, texts });
  return {
    class: attribution.class,
    attribution,
    classSaid: said !== undefined,
    command: head(command, most.command),
    judge: isJudge({ command, scenarios, judge }),
    ...(exit.kind === 'exited' ? { exitCode: exit.code } : {}),
  };
}
