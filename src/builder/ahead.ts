/** Orders that are asked ahead of their turn. A round asks for the first prompts of independent orders at once; each answer counts
 *  only for the very prompt that it was given to, and is taken from the record of the run: checks can write to the workspace. */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import { decidesVerification } from '../core/orders/verify-deciders.ts';
import { readyOrders } from '../core/orders/waits.ts';
import type { AskedAhead, BuildState } from '../core/records/build.ts';
import { inWorkspace } from '../core/records/layout.ts';
import { withoutFinalNewline, withoutNotes } from '../core/sent-prompt.ts';
import { sha256 } from '../core/sha256.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { filesInside } from '../platform/files/inside.ts';
import { DamagedStore } from '../platform/files/workspace-error.ts';
import { bodiesIn } from '../run/exchanges.ts';
import { notesTo, notesUsed } from '../run/note-files.ts';
import { openRun } from '../run/open-run.ts';
import type { LoadedOrder } from '../run/orders.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { type Build, preflightProblem } from './build-state.ts';
import { promptWriter } from './order-prompt.ts';
import { probeOf, type StepContext } from './step-context.ts';
import { verifyFacts } from './verify.ts';

/* A round. */

export type AheadOptions = {
  /** The most orders of a round. */
  readonly ahead?: number;
  /** The node that asks. */
  readonly askNode?: string;
  readonly template?: string;
};

export type Round =
  /** Their prompts are written. */
  | { readonly asked: readonly AskedAhead[] }
  /** So many could be asked at once, but the node's agent sees more than a prompt, or has prepared answers. */
  | { readonly inARow: number }
  | { readonly problem: string };

/** Begins a round with `next`, the order whose turn it is; undefined where no other order could be asked with it. */
export async function beginRound(
  place: StepContext,
  build: Build,
  next: LoadedOrder,
  { ahead = 1, askNode = '', template }: AheadOptions,
  io: CommandIo,
): Promise<Round | undefined> {
  const asker = promptOnly(io).find((one) => one.startsWith(`${askNode}=`));
  const isAskable = asker !== undefined;
  if (ahead < 2 || (!isAskable && build.state.in_a_row === true)) return undefined;
  const ready = await readyWith(place, build, next, ahead, io);
  if (ready.length < 2) return undefined;
  if (!isAskable) return { inARow: ready.length };
  const files = filesInside(place.workspace);
  files.remove(inWorkspace.ordersAhead);
  const write = promptWriter(place, build, template, io);
  const round = Math.max(0, ...(build.state.ahead ?? []).map((one) => one.round)) + 1;
  const asked: AskedAhead[] = [];
  for (const { order } of ready) {
    const prompt = await write({ order, attempt: 1, brief: null });
    if ('problem' in prompt) return prompt;
    asked.push({ id: order.id, round, asker, prompt_sha256: hashAsSent(prompt.text) });
    await files.write(`${inWorkspace.ordersAhead}/${asked.length}.md`, prompt.text);
  }
  return { asked };
}

/** The nodes that are sent their prompts alone, each with who answers. */
const promptOnly = ({ env }: CommandIo): readonly string[] => (env['FACTORY_PROMPT_ONLY'] ?? '').split(',');

/** `next` and orders that wait for none that is not done, at most `most`: those whose preconditions hold and that were not asked. */
async function readyWith(
  { workspace }: StepContext,
  { orders, state }: Build,
  next: LoadedOrder,
  most: number,
  io: CommandIo,
): Promise<readonly LoadedOrder[]> {
  const known = new Set(state.ahead?.map(({ id }) => id));
  const done = new Set(state.done.map(({ id }) => id));
  const all = orders.map(({ order }) => order);
  // Where the orders are a chain by their files already, nothing of the project is looked at.
  if (readyOrders(all, done, () => false).length < 2) return [];
  const ready = readyOrders(all, done, decidesVerification(await verifyFacts(workspace, probeOf(io))));
  const found: LoadedOrder[] = [];
  for (const { id } of ready) {
    const loaded = orders.find(({ order }) => order.id === id);
    if (loaded === undefined || known.has(id) || found.length === most) continue;
    const unmet = await preflightProblem(workspace, loaded.order);
    if (unmet === undefined) found.push(loaded);
    // It fails at its turn, and the build with it.
    else if (loaded === next) return [];
  }
  return found;
}

const hashAsSent = (prompt: string): string => sha256(withoutFinalNewline(prompt));

/* Its answers. */

/** The orders of the latest round with their answers, which the record has by now. To be called before any check of a project runs
 *  after the round: from then on the state vouches for the answers. */
export function withAnswers(place: StepContext, asked: readonly AskedAhead[]): readonly AskedAhead[] {
  const isOpen = ({ answer, end }: AskedAhead): boolean => answer === undefined && end === undefined;
  const round = asked.findLast(isOpen)?.round;
  if (round === undefined) return asked;
  filesInside(place.workspace).remove(inWorkspace.ordersAhead);
  const history = openRun(place.run.root).history();
  const ids = asked.filter((one) => one.round === round).map(({ id }) => id);
  return asked.map((one) => {
    if (one.round !== round || !isOpen(one)) return one;
    return { ...one, ...(history.ok ? answerTo(place, history, one, ids) : { end: 'unanswered' }) };
  });
}

type Settled = Pick<AskedAhead, 'answer' | 'end'>;

function answerTo(
  place: StepContext,
  history: RunHistory,
  { id, prompt_sha256 }: AskedAhead,
  ids: readonly string[],
): Settled {
  const visits = history.records.filter((record) => record.type === 'Visit');
  const opening = visits.findLast(({ fork }) => isDeepStrictEqual(fork?.items, ids));
  const branch = opening?.fork?.branches[ids.indexOf(id)]?.id;
  const visit = visits.findLast((one) => one.branch === branch && one.branch_ended?.ok === true);
  if (opening === undefined || branch === undefined || visit === undefined || visit.steps <= opening.steps)
    return { end: 'unanswered' };
  const found = exchangeOf(place, history, visit);
  if (found === undefined) return { end: 'unanswered' };
  if (promptHash(found, visit.steered ?? []) !== prompt_sha256) return { end: 'wasted' };
  const { node, visit: number } = visit;
  return { answer: { node, visit: number, sha256: sha256(found.answer) } };
}

/** Of the prompt that was sent, without notes of people; undefined where that is not known. */
function promptHash({ prompt, sent }: Given, notes: Parameters<typeof withoutNotes>[1]): string | undefined {
  // In the recorded text secrets are masked.
  if (sent !== undefined) return notes.length === 0 ? sent : undefined;
  const text = withoutNotes(prompt, notes);
  return text === undefined ? undefined : sha256(text);
}

/** An exchange: `sent` is the hash of its prompt where the recorded text is masked. */
type Given = { readonly prompt: string; readonly answer: string; readonly sent: string | undefined };

const answeredSchema = once(() =>
  z.object({ kind: z.literal('answered'), text: z.string(), secrets: z.array(z.string()).optional() }),
);

/** The prompt and the answer of an execution, as the journal has them; undefined where there is none, or secrets are masked in the
 *  answer. */
function exchangeOf(
  { run }: StepContext,
  { exchanges }: RunHistory,
  { node, visit }: { readonly node: string; readonly visit: number },
): Given | undefined {
  const exchange = exchanges.findLast((one) => one.node === node && one.visit === visit && one.complete);
  if (exchange === undefined || exchange.report === null) return undefined;
  const read = bodiesIn(run.root);
  try {
    const report = answeredSchema().safeParse(jsonIn(read(exchange.report))).data;
    if (report === undefined || report.secrets !== undefined) return undefined;
    return { prompt: read(exchange.prompt), answer: report.text, sent: exchange.sent_sha256 };
  } catch (error) {
    if (error instanceof DamagedStore) return undefined;
    throw error;
  }
}

/** The answer to an order that was asked ahead, whose prompt at its turn is `prompt`; or why it does not count. */
export function answerAhead(
  place: StepContext,
  { prompt_sha256, answer, asker }: AskedAhead,
  prompt: string,
  io: CommandIo,
): { readonly text: string } | { readonly wasted: string } {
  if (answer === undefined || hashAsSent(prompt) !== prompt_sha256)
    return { wasted: 'its prompt was another one' };
  if (asker !== undefined && !promptOnly(io).includes(asker))
    return { wasted: 'another agent or model is to answer now' };
  const history = openRun(place.run.root).history();
  if (history.ok && isNoteWaiting(place, history)) return { wasted: 'a person has given a note since' };
  const found = history.ok ? exchangeOf(place, history, answer) : undefined;
  return found !== undefined && sha256(found.answer) === answer.sha256
    ? { text: found.answer }
    : { wasted: 'the record of the run no longer has the answer that was given' };
}

/** Whether a note of a person to the run is in no prompt yet: the next agent is to have it, so that one must be asked. */
function isNoteWaiting({ run }: StepContext, { records }: RunHistory): boolean {
  const used = notesUsed(records);
  return notesTo(run.root).some(({ note, branch }) => branch === undefined && !used.has(note));
}

/** The state with another list of orders that were asked ahead. */
export const withAhead = (state: BuildState, ahead: readonly AskedAhead[]): BuildState => ({
  ...state,
  ahead: [...ahead],
});
