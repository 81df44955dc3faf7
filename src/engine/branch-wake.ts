/** When a branch continues while others still run: a suspended one, and in a replay one that waits for others. */
import { cursorOf, openQuestions, suspensions } from '../core/fork.ts';
import { own } from '../core/json.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import { layout } from '../core/records/layout.ts';
import { realEvery } from '../platform/clock.ts';
import { watchFolder } from '../platform/files/watch.ts';
import { answerTo } from '../run/answer-files.ts';
import type { Run } from './run-context.ts';

/** Milliseconds between two looks for an answer, where the system does not report it, and between two looks at the clock: the machine
 *  may have been asleep. */
const lookMs = { file: 1000, clock: 60_000 } as const;

/** Whether a question of the branch is answered, or a time is over that it waits for. `view`: the state as the branch sees it. */
export function canContinue({ runDir, clock }: Pick<Run, 'runDir' | 'clock'>, view: RunState): boolean {
  const now = clock.now().getTime();
  return (
    openQuestions(view).some((question) => answerTo(runDir, question) !== undefined) ||
    suspensions(view).some(({ wake_at }) => wake_at !== null && Date.parse(wake_at) <= now)
  );
}

/** Whether a replay lets the branch wait for others; `state`: of the whole run. */
export function isEarly(run: Pick<Run, 'replay'>, state: RunState, branch: string): boolean {
  if (run.replay === undefined) return false;
  const { fork, next_node: node } = cursorOf(state, branch);
  const open = Object.entries(fork?.branches ?? {}).filter(([, { ended }]) => ended === undefined);
  if (open.length > 0) return open.every(([id]) => isEarly(run, state, id));
  const visit = (own(state.visits, node ?? '') ?? 0) + 1;
  return node !== null && run.replay.isEarly({ node, visit, branch }, state);
}

/** Settles when one of the branches can continue, or after the signal. */
export async function untilOneCan(
  run: Pick<Run, 'runDir' | 'clock'>,
  views: () => readonly RunState[],
  over: AbortSignal,
): Promise<undefined> {
  const { clock } = run;
  const can = (): boolean => views().some((view) => canContinue(run, view));
  const found = new AbortController();
  const signal = AbortSignal.any([over, found.signal]);
  const look = (): void => {
    if (can()) found.abort();
  };
  const asks = views().some((view) => openQuestions(view).length > 0);
  const ends = asks ? [realEvery(lookMs.file, look), watchFolder(layout(run.runDir).answers, look)] : [];
  try {
    while (!signal.aborted && !can()) {
      const times = views().flatMap((view) =>
        suspensions(view).map(({ wake_at }) => Date.parse(wake_at ?? '')),
      );
      const left = Math.min(...times.filter((at) => !Number.isNaN(at))) - clock.now().getTime();
      await clock.sleep(Math.max(1, Math.min(left, lookMs.clock)), signal);
    }
  } finally {
    for (const end of ends) end?.();
  }
  return undefined;
}
