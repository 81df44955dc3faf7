/** Runs a node of an own type: the code of the project, in this process. */
import { elapsedWords } from '../core/amounts.ts';
import type { NodeContext } from '../core/contracts/node-kind.ts';
import { errorText } from '../core/diagnostic.ts';
import { failed, type Outcome } from '../core/outcome.ts';
import { ownOutcome } from '../core/own-outcome.ts';
import { HoldoutLeak } from '../holdout/leak-guard.ts';
import { isFull } from '../platform/files/disk-error.ts';
import { WorkspaceError } from '../platform/files/workspace-error.ts';
import { Diverged } from '../run/answers.ts';
import { type LayerContext, LimitReached } from './layers/layer.ts';
import { AnswerAwaited } from './question.ts';
import { TimeAwaited } from './waiting.ts';

/** What the code answered, if it is an outcome; a failure where it is none, throws, or still runs when its time is over. */
export async function runOwnKind(context: LayerContext): Promise<Outcome> {
  const { kind, node, clock, signal, attempt, inputs } = context;
  const over = new AbortController();
  const ends = AbortSignal.any([signal, over.signal]);
  let suspends: unknown;
  // The code may catch what ends the execution here.
  const ending =
    <A extends readonly unknown[], R>(act: (...given: A) => Promise<R>) =>
    (...given: A): Promise<R> =>
      act(...given).catch((error: unknown) => {
        suspends = error;
        throw error;
      });
  const given = contextOf(context, {
    signal: ends,
    ask: ending(context.ask),
    wait: ending(context.wait),
  });
  const work = Promise.resolve().then(() => kind.run(node.settings, given));
  const answered = work.then(
    (answer): Outcome => ownOutcome(kind.type, answer, inputs.latestKeys),
    (error: unknown): Outcome => {
      if (isOfEngine(error)) throw error;
      return failed(`the node type "${kind.type}" threw: ${errorText(error)}`, 'config', { broke: true });
    },
  );
  try {
    const outcome = await Promise.race([answered, timeOver(attempt.timeout.ms)]);
    if (suspends !== undefined) throw suspends;
    return outcome;
  } finally {
    over.abort();
    // Nothing counts of code that runs on after its time.
    answered.catch(() => {});
  }

  async function timeOver(ms: number): Promise<Outcome> {
    await clock.sleep(ms, ends);
    return signal.aborted
      ? failed('cancelled', 'cancelled', { broke: true })
      : failed(
          `timeout: the node type "${kind.type}" was still running after ${elapsedWords(ms)}`,
          'timeout',
          {
            broke: true,
          },
        );
  }
}

/** Whether the engine itself has ended the execution. */
const isOfEngine = (error: unknown): boolean =>
  error instanceof AnswerAwaited ||
  error instanceof TimeAwaited ||
  error instanceof LimitReached ||
  error instanceof Diverged ||
  error instanceof HoldoutLeak ||
  error instanceof WorkspaceError ||
  isFull(error);

/** The parts of the contract, and nothing else of the engine. */
function contextOf(
  context: LayerContext,
  instead: Pick<NodeContext, 'signal' | 'ask' | 'wait'>,
): NodeContext {
  const { graph, node, runDir, clock, inputs, workspace, files, processes, agent, attempt } = context;
  const { toolState, changedInRun, pathsBefore, holdout, log } = context;
  return {
    ...{ graph, node, runDir, clock, inputs, workspace, files, processes, agent, attempt },
    ...{ toolState, changedInRun, pathsBefore, holdout, log },
    ...instead,
  };
}
