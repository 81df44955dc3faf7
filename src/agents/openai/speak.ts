/** One turn over whichever API the server speaks: asked for by name, or found out by the first answer. */

import { ask, type Ways } from './ask.ts';
import { askChat, type ChatWays } from './chat.ts';
import type { Request } from './client.ts';
import type { Api } from './mode.ts';
import { type Settled, settled, type TurnDeps } from './turn.ts';

/** What is known of the server; it is kept from call to call. */
export type Known = { api?: 'responses' | 'chat'; plain?: boolean; noSummary?: boolean };

export type SpeakDeps = Omit<TurnDeps, 'ask'> & {
  readonly api: Api;
  readonly known: Known;
  /** What this task has learned of the ways to be answered. */
  readonly ways: Ways;
  readonly chatWays: ChatWays;
};

/** Statuses of a server that does not know the Responses API. */
const unknownThere: readonly (number | undefined)[] = [404, 405, 501];

export async function speak(request: Request, deps: SpeakDeps): Promise<Settled> {
  const { api, known, watch, task, note } = deps;
  const chosen = api === 'auto' ? known.api : api;
  const byChat = () =>
    settled(request, { ...deps, ask: (it) => askChat(it, watch, task.onText, deps.chatWays, note) });
  if (chosen === 'chat') return byChat();
  const got = await byResponses(request, deps);
  if (!('report' in got)) {
    known.api ??= 'responses';
    return got;
  }
  if (chosen !== undefined || !unknownThere.includes(got.status)) return got;
  const other = await byChat();
  if ('answer' in other) known.api = 'chat';
  // It knows neither: what it said of the first is what there is to tell, a wrong address or model.
  return 'report' in other && unknownThere.includes(other.status) ? got : other;
}

async function byResponses(request: Request, deps: SpeakDeps): Promise<Settled> {
  const { known, watch, task, note, ways } = deps;
  const once = (plain: boolean) =>
    settled(
      { ...withPlain(request, plain), ...(known.noSummary === true ? { noSummary: true } : {}) },
      { ...deps, ask: (it) => ask(it, watch, task.onText, ways, note) },
    );
  let got = await once(known.plain === true);
  if (request.effort !== undefined && known.noSummary !== true && refusesSummary(got)) {
    known.noSummary = true;
    got = await once(known.plain === true);
  }
  if (
    request.talk === undefined ||
    known.plain === true ||
    !('report' in got) ||
    (got.status !== 400 && got.status !== 422)
  )
    return got;
  const { report } = got;
  // Not every server and model knows sealed thoughts, or not to keep what it hears; few say so in words of their own.
  const first = request.talk.turns.length === 0;
  const named = report.kind === 'failed' && /\b(include|encrypted|store)\b/i.test(report.reason);
  if (!first && !named) return got;
  const plain = await once(true);
  if ('report' in plain && plain.status !== undefined) return got;
  known.plain = true;
  return plain;
}

/** OpenAI tells what its models think to those only whose organization it has verified; others know no summaries. */
const refusesSummary = (got: Settled): boolean =>
  'report' in got &&
  (got.status === 400 || got.status === 422) &&
  got.report.kind === 'failed' &&
  /\bsummar(?:y|ies)\b/i.test(got.report.reason);

const withPlain = (request: Request, plain: boolean): Request =>
  request.talk === undefined ? request : { ...request, talk: { ...request.talk, plain } };
