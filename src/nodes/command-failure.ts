/** Classifies the failure of a node's command. */
import type { NodeContext } from '../core/contracts/node-kind.ts';
import type { Exit } from '../core/contracts/process.ts';
import { classifyFailure, failureWordIn, isJudge } from '../core/failure-class.ts';
import type { Failure, FailureClass } from '../core/outcome.ts';
import { scenariosNamed } from '../core/policy/holdout-paths.ts';
import { head } from '../platform/files/read.ts';

/** Limits in bytes: end of each stream, recorded command, text of a scenario. */
const most = { stream: 65_536, command: 500, text: 1024 * 1024 };

/** The class of the failed command's failure, how it was determined, and the exit code if there is one. */
export async function commandFailure(
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
  const failureWord =
    word === undefined ? failureWordIn(stderr, stdout) : { class: word, where: '$FACTORY_OUTPUT' };
  const named = scenariosNamed(command, scenarios);
  const read = await Promise.all(named.map((path) => context.workspace.read(path, most.text)));
  const texts = read.filter((text) => text !== undefined);
  const attribution = classifyFailure({
    word: failureWord,
    exit,
    command,
    scenarios,
    judge,
    stdout,
    stderr,
    texts,
  });
  return {
    class: attribution.class,
    attribution,
    classSaid: failureWord !== undefined,
    command: head(command, most.command),
    judge: isJudge({ command, scenarios, judge }),
    ...(exit.kind === 'exited' ? { exitCode: exit.code } : {}),
  };
}

/* Durations as text. */

/** `1500` → `1.5s`, `1800000` → `30m`. */
export function describeMs(exact: number): string {
  // 59.96s would be rounded to 60s: print 1m.
  const ms = exact < 60_000 ? exact : Math.round(exact / 1000) * 1000;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))}s`;
  if (ms < 3_600_000)
    return ms % 60_000 === 0 ? `${ms / 60_000}m` : `${Math.floor(ms / 60_000)}m ${(ms % 60_000) / 1000}s`;
  return `${Number((ms / 3_600_000).toFixed(1))}h`;
}
