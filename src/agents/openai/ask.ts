/** A prompt for one budget: streamed, and where no stream comes through, from the background. */
import type { AgentTask } from '../agent.ts';
import { fetched, inBackground } from './background.ts';
import type { Request } from './client.ts';
import type { Exchange } from './ending.ts';
import { exchange } from './exchange.ts';
import type { Trouble } from './failure.ts';
import { patience, worded } from './patience.ts';
import type { Watch } from './watch.ts';

type TroubledExchange = Extract<Exchange, { kind: 'trouble' }>;

/** What a call has learned about its server; it is kept from budget to budget. */
export type Ways = {
  /** The server refuses to stream. */
  noStream?: TroubledExchange;
  /** The server refuses to work in the background. */
  noBackground?: boolean;
};

/** Asks until there is an answer or no hope for one. `onWay` is told about each exchange that is followed by another
 *  one, of one that was lost perhaps twice. */
export async function ask(
  request: Request,
  watch: Watch,
  onText: AgentTask['onText'],
  ways: Ways,
  onWay: (passed: Exchange) => void,
): Promise<Exchange> {
  const tries = patience(request, watch);
  for (;;) {
    const got = ways.noStream ?? (await exchange(request, watch, onText));
    if (watch.stopped !== undefined) return got;
    if (got.kind === 'pending') return fetched(got, request, watch);
    if (got.kind !== 'trouble') return got;
    if (got.trouble.way === 'refused') ways.noStream = got;
    if (got.trouble.way !== undefined && ways.noBackground !== true) {
      // A model may have worked for the stream that was lost.
      if (got.trouble.way === 'lost') onWay(got);
      const later = await inBackground(request, watch, onWay);
      if (later.kind !== 'trouble') return later;
      if (watch.stopped !== undefined || !knowsNoBackground(later.trouble, got)) return withRest(later, got);
      // What went wrong with the stream is what there is to tell.
      ways.noBackground = true;
    }
    if (!(await tries.wait(got.trouble))) return worded(got, got.trouble, tries.tries);
    onWay(got);
  }
}

/** Whether it is "background" that the server does not take, and not the prompt. One that does not say so took the
 *  prompt when it began to stream. A status is only there where the prompt was handed in. */
const knowsNoBackground = ({ status, names }: Trouble, stream: TroubledExchange): boolean =>
  status === 422 ||
  (status === 400 && (names === 'background' || stream.trouble.way === 'refused' || stream.begun === true));

/** What a broken stream had brought is better than nothing. */
const withRest = (later: Exchange, broken: Exchange): Exchange => ({
  ...later,
  text: later.text === '' ? broken.text : later.text,
  reasoning: later.reasoning === '' ? broken.reasoning : later.reasoning,
});
