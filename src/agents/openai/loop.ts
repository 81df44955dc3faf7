/** A model at work: it calls tools, is told their results, and says in the end how it went. */
import { realpath } from 'node:fs/promises';
import type { JsonObject } from '../../model/json.ts';
import type { Clock } from '../../system/clock.ts';
import type { AgentReport, AgentTask, Usage } from '../agent.ts';
import type { Request } from './client.ts';
import { type Hands, hands } from './hands.ts';
import { capReached, nearness } from './limits.ts';
import type { Loop } from './mode.ts';
import { repeats } from './repeats.ts';
import { tokensToSend } from './sending.ts';
import { type SpeakDeps, speak } from './speak.ts';
import type { FunctionCall, Turn } from './talk.ts';
import { bounded } from './tools/bounded.ts';
import { tools } from './tools/index.ts';
import { resolvedScope } from './tools/place.ts';
import { refused, type ToolResult } from './tools/tool.ts';
import { asJson, type Transcript, transcript } from './transcript.ts';
import { type Answer, stopReport } from './turn.ts';
import { finished, lastWord } from './verdict.ts';
import { finishTool, instructionsFor } from './words.ts';

export type LoopDeps = SpeakDeps & {
  readonly clock: Clock;
  readonly mask: (text: string) => string;
  /** What all turns so far have used. */
  readonly used: () => Usage | undefined;
};

/** Calls of one turn that are carried out, and characters that all their results may have. */
const mostCalls = 50;
const mostResults = 200_000;
/** However much was told before it, this much of a result is told. */
const leastResult = 2_000;
/** Times that a model may be asked again after an answer that is none. */
const patience = 2;
/** Tokens: servers refuse to answer in fewer. */
const leastBudget = 16;

/** Works until the model is done, a limit is reached, or the task is stopped. `first` is the request without a talk.
 *  Rejects only where the task's own doors do. */
export async function toolLoop(
  task: AgentTask,
  loop: Loop,
  first: Request,
  deps: LoopDeps,
): Promise<AgentReport> {
  const { clock, watch } = deps;
  const began = clock.monotonic();
  const record = transcript(task, clock, deps.mask);
  const instructions = instructionsFor(loop);
  const { scope, ...limits } = loop;
  record.add({ type: 'start', model: first.model, limits, scope, instructions, prompt: task.prompt });

  const root = await realpath(task.workspace);
  const offered = tools.filter(({ name }) => loop.tools.includes(name));
  const words = [
    ...offered.map(({ name, description, parameters }) => ({ name, description, parameters })),
    ...(loop.finish ? [finishTool] : []),
  ];
  const inSight = await resolvedScope(root, scope, (hidden) => task.otherNames?.(hidden) ?? []);
  const work = hands(offered, loop.finish ? [finishTool.name] : [], {
    task,
    root,
    scope: inSight,
    clock,
    runMs: loop.runMs,
    signal: watch.signal,
  });
  const stopped = () =>
    watch.stopped === undefined ? undefined : stopReport(watch.stopped, task, first, deps.idleMs, '');
  const circle = repeats(loop.sameCalls);
  const near = nearness(loop, task.timeoutMs);
  const turns: Turn[] = [];
  let sent = 0;
  let counted: number | undefined;
  let known = 0;
  let said = '';
  let vain = 0;

  for (let turn = 1; ; turn += 1) {
    const tokens = tokensOf(deps.used());
    const sends = tokensToSend(counted, turns.slice(known));
    const taken = { turn, tokens, sends, elapsedMs: clock.monotonic() - began };
    const cap = capReached(loop, taken);
    if (cap !== undefined) return end(agentFailed(cap));
    const purse = await task.purse?.(deps.used(), sends);
    if (purse !== undefined && 'empty' in purse)
      return end({ kind: 'failed', class: 'budget', reason: purse.empty });
    addNote(turns, near(taken));
    const left = Math.min(
      loop.maxTokens === undefined ? Number.POSITIVE_INFINITY : loop.maxTokens - tokens,
      purse?.tokens ?? Number.POSITIVE_INFINITY,
    );
    const budget = Math.max(leastBudget, Math.min(first.budget, left));
    known = turns.length;
    record.add({ type: 'request', turn, budget, sends: turns.slice(sent).flatMap(shownTurn) });
    sent = turns.length;
    const asked = clock.monotonic();
    const got = await speak(
      {
        ...first,
        budget,
        capped: left !== Number.POSITIVE_INFINITY,
        talk: { instructions, turns, tools: words, plain: false },
      },
      { ...deps, mayGrow: 2 * budget <= left },
    );
    if ('report' in got) return end(ofLoop(got.report));
    const { answer } = got;
    counted = answer.usage?.input_tokens ?? undefined;
    if (counted === undefined) known = 0;
    const calls = answer.calls ?? [];
    if (answer.text.trim() !== '') said = answer.text;
    if (answer.text !== '' && calls.length > 0) show(task, '\n\n');
    turns.push({ by: 'model', text: answer.text, items: answer.items ?? [], calls });
    record.add({ ...shownAnswer(answer, deps), turn, ms: Math.round(clock.monotonic() - asked) });
    await record.save();
    task.log('debug', 'the model answered', { turn, calls: calls.map(({ name }) => name) });
    if (loop.maxTokens !== undefined && !loop.uncounted && !isCounted(answer))
      return end(
        agentFailed(
          `max_tokens is ${loop.maxTokens}, and ${first.shown} does not say how many tokens it uses ` +
            '(unknown_cost=allow goes on without knowing)',
        ),
      );

    if (calls.length === 0) {
      const last = lastWord(answer.text, loop.finish);
      if (last.report !== undefined) return end(last.report);
      vain += 1;
      if (vain > patience) return end(agentFailed(`"${first.model}" gave no answer: ${last.why}`));
      turns.push({ by: 'us', text: last.tell });
      continue;
    }
    const did = await carryOut(calls, turn, { loop, work, record, clock, stopped });
    if ('report' in did) return end(did.report);
    await record.save();
    turns.push(...did.told.map(({ call, result }) => ({ by: 'tool' as const, call, text: result.text })));
    const remembered = [];
    for (const { call, result } of did.told) remembered.push(await work.remembered(call, result));
    const verdict = circle.turn(remembered);
    if (verdict === 'tell') addNote(turns, inCircles);
    if (verdict === 'stop')
      return end({ kind: 'failed', class: 'stalled', reason: circleReason(first.model, calls) });
  }

  async function end(report: AgentReport): Promise<AgentReport> {
    const { kind } = report;
    const outcome = kind === 'finished' ? { outcome: report.outcome } : {};
    const why = kind === 'failed' ? { class: report.class, reason: report.reason } : {};
    record.add({ type: 'end', kind, ...outcome, ...why, usage: deps.used() ?? null });
    await record.save();
    return kind === 'failed' && report.response === undefined && said !== ''
      ? { ...report, response: said }
      : report;
  }
}

const agentFailed = (reason: string): AgentReport => ({ kind: 'failed', class: 'agent', reason });

/** No form is asked of an answer in a loop; the API's own troubles are told as such. */
function ofLoop(report: AgentReport): AgentReport {
  if (report.kind !== 'failed' || report.model !== 'output') return report;
  const { model: _, ...rest } = report;
  return rest;
}

/** What the model says in one turn and in the next are two paragraphs. */
function show(task: AgentTask, text: string): void {
  try {
    task.onText?.(text, 'answer');
  } catch {
    // A view that cannot show the text is no reason to lose it.
  }
}

type Told = { readonly call: FunctionCall; readonly result: ToolResult };

/** Carries out the calls of one turn, in order, `finish` after all others. */
async function carryOut(
  calls: readonly FunctionCall[],
  turn: number,
  deps: {
    readonly loop: Loop;
    readonly work: Hands;
    readonly record: Transcript;
    readonly clock: Clock;
    readonly stopped: () => AgentReport | undefined;
  },
): Promise<{ readonly told: readonly Told[] } | { readonly report: AgentReport }> {
  const { loop, work, record, clock, stopped } = deps;
  const isFinish = ({ name }: FunctionCall) => loop.finish && name === finishTool.name;
  const told: Told[] = [];
  let room = mostResults;
  const tell = (call: FunctionCall, whole: ToolResult, ms: number): void => {
    const result = { ...whole, text: bounded(whole.text, Math.max(room, leastResult)) };
    room -= result.text.length;
    told.push({ call, result });
    const { id, name } = call;
    record.add({
      type: 'call',
      turn,
      id,
      name,
      arguments: asJson(call.arguments),
      ok: result.ok,
      ms,
      result: result.text,
    });
  };
  for (const call of calls.filter((one) => !isFinish(one))) {
    const stop = stopped();
    if (stop !== undefined) return { report: stop };
    const began = clock.monotonic();
    const result =
      told.length < mostCalls ? await work.carryOut(call) : refused(`more than ${mostCalls} calls at once`);
    tell(call, result, Math.round(clock.monotonic() - began));
  }
  const stop = stopped();
  if (stop !== undefined) return { report: stop };
  for (const call of calls.filter(isFinish)) {
    const inVain = told.some(({ result }) => !result.ok);
    const done = finished(call.arguments, inVain);
    if ('report' in done) return done;
    tell(call, refused(done.problem), 0);
  }
  return { told };
}

/** Adds words of ours to the last result: not every server takes a message between results and answer. */
function addNote(turns: Turn[], note: string | undefined): void {
  if (note === undefined) return;
  const last = turns.at(-1);
  if (last !== undefined && last.by !== 'model')
    turns[turns.length - 1] = { ...last, text: `${last.text}\n\n${note}` };
  else turns.push({ by: 'us', text: note });
}

const inCircles =
  '[note: you made these calls before, and nothing has changed since: do something else, or come to an end. ' +
  'The work is stopped if this goes on]';

const circleReason = (model: string, calls: readonly FunctionCall[]): string =>
  `"${model}" made the same call again and again, without any change: ` +
  `${calls[0]?.name} ${(calls[0]?.arguments ?? '').slice(0, 200)}`;

const tokensOf = (usage: Usage | undefined): number =>
  (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
const isCounted = ({ usage }: Answer): boolean =>
  usage !== undefined && usage.input_tokens !== null && usage.output_tokens !== null;

/** A result stands in the record with its call already; what was added to it is of interest. */
function shownTurn(turn: Turn): JsonObject[] {
  if (turn.by === 'model') return [];
  if (turn.by === 'us') return [{ by: 'us', text: turn.text }];
  const notes = turn.text.match(/(?:\n\n\[note: [^\n]*\])+$/)?.[0].trim();
  return [{ by: 'tool', id: turn.call.id, ...(notes === undefined ? {} : { notes }) }];
}

function shownAnswer(answer: Answer, { api, known }: LoopDeps) {
  const { text, reasoning, usage } = answer;
  const items = answer.items ?? [];
  return {
    type: 'answer',
    api: api === 'auto' ? (known.api ?? null) : api,
    text,
    ...(reasoning === '' ? {} : { reasoning }),
    calls: (answer.calls ?? []).map(({ id, name, arguments: args }) => ({
      id,
      name,
      arguments: asJson(args),
    })),
    ...(items.length === 0 ? {} : { items }),
    usage: usage ?? null,
  };
}
