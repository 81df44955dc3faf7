/** An answer that the server makes on its own time: it is asked for once, then looked for until it is there. */
import type { APIPromise, OpenAI } from 'openai';
import { bodyFor, bytesOf, clientFor, type Package, patient, type Request, readLimit } from './client.ts';
import { type Exchange, endOf, tooLarge } from './ending.ts';
import { jsonIn, TooLarge } from './events.ts';
import { cut, ended, type Trouble, troubleOf, troubleOfFault } from './failure.ts';
import { patience, worded } from './patience.ts';
import type { Watch } from './watch.ts';
import { hearWhole } from './wire.ts';

/** Milliseconds for the head of an answer to one look, and for the word that nobody waits any longer. */
const lookMs = 60_000;
const farewellMs = 3_000;

const nothing = { text: '', reasoning: '' };

/** Hands the prompt in and fetches the answer. `onWay` is told about each exchange that is followed by another one.
 *  Never rejects for what the server does. */
export async function inBackground(
  request: Request,
  watch: Watch,
  onWay: (passed: Exchange) => void,
): Promise<Exchange> {
  const openai = await import('openai');
  const client = clientFor(request, openai);
  const tries = patience(request, watch);
  for (;;) {
    const sent = {
      ...bodyFor(request),
      background: true,
      // What the server does not keep it cannot be asked for.
      ...(request.talk === undefined ? {} : { store: true }),
    };
    request.record?.({ kind: 'request', to: `${request.shown}/responses`, body: sent });
    const begun = await once(request, watch, openai, () =>
      client.responses.create(sent, { signal: watch.signal, fetchOptions: patient() }),
    );
    const got = begun.kind === 'pending' ? await fetched(begun, request, watch) : begun;
    if (got.kind !== 'trouble' || watch.stopped !== undefined) return got;
    if (!(await tries.wait(got.trouble)))
      return begun === got ? worded(got, got.trouble, tries.tries, 'in the background') : got;
    onWay(got);
  }
}

/** Looks for an answer that the server works on until it is there, or until nobody waits for it any longer. */
export async function fetched(
  pending: Extract<Exchange, { kind: 'pending' }>,
  request: Request,
  watch: Watch,
): Promise<Exchange> {
  const openai = await import('openai');
  const client = clientFor(request, openai);
  const { clock, shown, pollMs, pollDeadlineMs } = request;
  const { id } = pending;
  const began = clock.monotonic();
  let { raw } = pending;
  const left = () => pollDeadlineMs - (clock.monotonic() - began);
  let tries = patience(request, watch, left());
  for (;;) {
    await clock.sleep(pollMs, watch.signal);
    if (watch.stopped !== undefined) {
      await farewell(client, id);
      return { ...nothing, kind: 'trouble', trouble: cut('stopped') };
    }
    if (left() <= 0) {
      await farewell(client, id);
      const reason = `no answer from ${shown} in the background within ${pollDeadlineMs / 1000} s (${id})`;
      const { report, ...rest } = ended(reason);
      const trouble: Trouble = { ...rest, report: { ...report, class: 'timeout' } };
      return { ...nothing, kind: 'trouble', trouble, evidence: { what: 'poll_timeout', raw } };
    }
    const got = await once(
      request,
      watch,
      openai,
      () => client.responses.retrieve(id, {}, { signal: watch.signal, timeout: lookMs }),
      id,
    );
    if (got.kind === 'pending') {
      ({ raw } = got);
      tries = patience(request, watch, left());
      continue;
    }
    // A response of its own that failed has an end; only a look that failed is worth another one.
    if (got.kind !== 'trouble' || got.evidence !== undefined) return got;
    if (watch.stopped !== undefined) continue;
    if (got.trouble.status === 404) {
      const gone = ended(
        `${shown} does not know the answer any more that it began in the background (${id})`,
      );
      return { ...got, trouble: gone };
    }
    if (!(await tries.wait(got.trouble)) && watch.stopped === undefined) {
      // Handing the prompt in again would have the server work on both.
      await farewell(client, id);
      const { status: _ofTheLook, ...trouble } = got.trouble;
      const lost: Trouble = { ...trouble, again: false };
      return worded(got, lost, tries.tries, 'looking for the answer in the background');
    }
  }
}

/** A response with another status is on its way, also with one that is not known yet. */
const last: readonly unknown[] = ['completed', 'incomplete', 'failed', 'cancelled'];

/** One request that is answered by a response, whole or on its way; `known` is its id where that is known before. */
async function once(
  request: Request,
  watch: Watch,
  openai: Package,
  send: () => APIPromise<unknown>,
  known?: string,
): Promise<Exchange> {
  const ear = watch.listen(request.idleMs);
  const trouble = (it: Trouble): Exchange => {
    request.record?.({ kind: 'trouble', reason: it.report.reason, status: it.status ?? null });
    return { ...nothing, kind: 'trouble', trouble: it };
  };
  try {
    const response = await send().asResponse();
    ear.heard();
    const body = bytesOf(response, watch.signal);
    const value = body === undefined ? undefined : await jsonIn(body, ear.heard, readLimit(request));
    request.record?.({ kind: 'response', body: value });
    const heard = hearWhole(value);
    if (heard?.kind === 'fault') return trouble(troubleOfFault(heard.fault, request));
    if (heard?.kind !== 'end')
      return trouble(cut(`${request.shown} answered with something that is no response`));
    const id = heard.body.id ?? known ?? '';
    return last.includes(heard.body.status) || id === ''
      ? endOf(heard.body, heard.raw, nothing, request)
      : { ...nothing, kind: 'pending', id, raw: heard.raw };
  } catch (error) {
    if (error instanceof TooLarge) return tooLarge(nothing, request);
    return trouble(troubleOf(error, openai, request));
  } finally {
    ear.end();
  }
}

/** Tells the server that nobody waits any longer, so that the answer costs no more; whether it listens is its own
 *  affair. */
async function farewell(client: OpenAI, id: string): Promise<void> {
  await client.responses.cancel(id, { timeout: farewellMs }).catch(() => {});
}
