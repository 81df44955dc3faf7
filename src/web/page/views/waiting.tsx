/** What runs and nodes wait for, with a countdown that the page's clock draws. */
import type { Wait } from '../../../app/inspect/wait.ts';
import { leftOf, nextTryIn, waitLine } from '../../../app/inspect/wait-words.ts';
import { now } from '../clock.ts';
import { countdownText, exactTime } from '../text/format.ts';

/** The whole wait in a line, the exact time on hover. */
export function WaitLine({ waiting, node }: { waiting: Wait | null; node?: string | null }) {
  if (waiting === null) return null;
  return (
    <p class="wait-line" title={waiting.until === null ? '' : exactTime(waiting.until)}>
      {node && `${node} · `}
      {waitLine(waiting, nextTryIn(waiting, now.value, countdownText))}
    </p>
  );
}

/** `in 41 s`: the time until the next try, where there is little room. */
export function Countdown({ until }: { until: string }) {
  const left = leftOf(until, now.value);
  return (
    <span class="countdown number" title={exactTime(until)}>
      {left === 0 ? 'now' : `in ${countdownText(left)}`}
    </span>
  );
}
