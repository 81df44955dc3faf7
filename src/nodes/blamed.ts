/** A failed command of a stage, with whose failure it is. */
import type { Failure, FailureClass } from '../model/outcome.ts';
import { blame, isJudge, saidIn } from '../policy/blame.ts';
import { scenariosNamed } from '../policy/scenarios.ts';
import { head } from '../system/read.ts';
import type { Exit } from '../system/spawn.ts';
import type { Site } from './kind.ts';

/** Bytes of the end of each stream that are looked at, and of the command that is remembered. */
const mostRead = 65_536;
const mostCommand = 500;
/** Characters of a scenario's own text. */
const mostText = 1024 * 1024;

/** What a failure says of the command: its class, how that is known, its exit code where it had one. */
export async function blamed(
  site: Pick<Site, 'readNodeFile' | 'readWorkspaceFile' | 'scenarios'>,
  exit: Exclude<Exit, { kind: 'cancelled' }>,
  of: {
    readonly command: string;
    readonly judge: boolean;
    /** What `$FACTORY_OUTPUT` says. */
    readonly word?: FailureClass | undefined;
    readonly stdoutName: string;
    readonly stderrName: string;
  },
): Promise<
  Required<Pick<Failure, 'class' | 'attribution' | 'classSaid' | 'command' | 'judge'>> &
    Pick<Failure, 'exitCode'>
> {
  const stdout = (await site.readNodeFile(of.stdoutName, mostRead, 'tail')) ?? '';
  const stderr = (await site.readNodeFile(of.stderrName, mostRead, 'tail')) ?? '';
  const said = of.word === undefined ? saidIn(stderr, stdout) : { class: of.word, where: '$FACTORY_OUTPUT' };
  const { command, judge } = of;
  const { scenarios } = site;
  const named = scenariosNamed(command, scenarios);
  const texts = await Promise.all(named.map((path) => site.readWorkspaceFile(path, mostText)));
  const attribution = blame({
    said,
    exit,
    command,
    scenarios,
    judge,
    stdout,
    stderr,
    texts: texts.filter((text) => text !== undefined),
  });
  return {
    class: attribution.class,
    attribution,
    classSaid: said !== undefined,
    command: head(command, mostCommand),
    judge: isJudge({ command, scenarios, judge }),
    ...(exit.kind === 'exited' ? { exitCode: exit.code } : {}),
  };
}
