/** A model at work: it calls tools, is told their results, and says in the end how it went. */
import { realpath } from 'node:fs/promises';
import type { JsonObject } from '../../model/json.ts';
import { reservedKeyIn } from '../../policy/reserved.ts';
import type { Clock } from '../../system/clock.ts';
import type { AgentReport, AgentTask, Usage } from '../agent.ts';
import { parseAnswer } from '../program/answer.ts';
import type { Request } from './client.ts';
import { hands } from './hands.ts';
import { capReached, nearness } from './limits.ts';
import type { Loop } from './mode.ts';
import { repeats } from './repeats.ts';
import { type SpeakDeps, speak } from './speak.ts';
import type { FunctionCall, Turn } from './talk.ts';
import { tools } from './tools/index.ts';
import { resolvedScope } from './tools/place.ts';
import { refused, type ToolResult } from './tools/tool.ts';
import { asJson, transcript } from './transcript.ts';
import { stopReport } from './turn.ts';
import { finishTool, instructionsFor, nothingSaid } from './words.ts';

export type LoopDeps = SpeakDeps & {
  readonly clock: Clock;
  readonly mask: (text: string) => string;
  /** What all turns so far have used. */
  readonly used: () => Usage | undefined;
};

/** Calls of one turn that are carried out. */
const mostCalls = 50;
/** Times that a model may be asked again after an answer that is none. */
const patience = 2;

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
  const offered = tools.filter(({ name }) => loop.tools.includes(name));
  const words = [
    ...offered.map(({ name, description, parameters }) => ({ name, description, parameters })),
    ...(loop.finish ? [finishTool] : []),
  ];
  const root = await realpath(task.workspace);
  const desk = {
    task,
    root,
    scope: await resolvedScope(root, loop.scope),
    clock,
    runMs: loop.runMs,
    signal: watch.signal,
  };
  const work = hands(offered, loop.finish ? [finishTool.name] : [], desk);
  const instructions = instructionsFor(loop);
  const circle = repeats();
  const near = nearness(loop, task.timeoutMs);
  const record = transcript(task, clock, deps.mask);
  const turns: Turn[] = [];
  let sent = 0;
  let said = '';
  let vain = 0;
  const { scope, ...limits } = loop;
  record.add({ type: 'start', model: first.model, limits, scope, instructions, prompt: task.prompt });

  const end = async (report: AgentReport): Promise<AgentReport> => {
    if (report.kind === 'cancelled') {
      record.add({ type: 'end', kind: report.kind });
      await record.save();
      return report;
    }
    const whole =
      report.kind === 'failed' && report.response === undefined && said !== ''
        ? { ...report, response: said }
        : report;
    const { kind } = whole;
    const outcome = whole.kind === 'finished' ? { outcome: whole.outcome } : {};
    const reason = whole.kind === 'failed' ? { class: whole.class, reason: whole.reason } : {};
    record.add({ type: 'end', kind, ...outcome, ...reason, usage: deps.used() ?? null });
    await record.save();
    return whole;
  };
  const fail = (reason: string) => end({ kind: 'failed', class: 'agent', reason });
  const stopped = () =>
    watch.stopped === undefined ? undefined : stopReport(watch.stopped, task, first, deps.idleMs, '');

  for (let turn = 1; ; turn += 1) {
    const tokens = tokensOf(deps.used());
    const taken = { turn, tokens, elapsedMs: clock.monotonic() - began };
    const cap = capReached(loop, taken);
    if (cap !== undefined) return fail(cap);
    addNote(turns, near(taken));
    const left = loop.maxTokens === undefined ? Number.POSITIVE_INFINITY : loop.maxTokens - tokens;
    const budget = Math.min(first.budget, left);
    const news = turns.slice(sent).flatMap((one) => (one.by === 'model' ? [] : [shownTurn(one)]));
    record.add({ type: 'request', turn, budget, sends: news });
    sent = turns.length;
    const asked = clock.monotonic();
    const got = await speak(
      { ...first, budget, talk: { instructions, turns, tools: words, plain: false } },
      { ...deps, mayGrow: 2 * budget <= left },
    );
    const ms = Math.round(clock.monotonic() - asked);
    if ('report' in got) {
      // The form of an answer is nothing that the model of a loop is held to; the API's troubles are told as such.
      const { report } = got;
      if (report.kind !== 'failed' || report.model !== 'output') return end(report);
      const { model: _, ...rest } = report;
      return end(rest);
    }
    const { answer } = got;
    const calls = answer.calls ?? [];
    const items = answer.items ?? [];
    if (answer.text.trim() !== '') said = answer.text;
    record.add({
      type: 'answer',
      turn,
      ms,
      api: deps.api === 'auto' ? (deps.known.api ?? null) : deps.api,
      text: answer.text,
      ...(answer.reasoning === '' ? {} : { reasoning: answer.reasoning }),
      calls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: asJson(args) })),
      ...(items.length === 0 ? {} : { items }),
      usage: answer.usage ?? null,
    });
    await record.save();
    turns.push({ by: 'model', text: answer.text, items, calls });
    const { usage } = answer;
    if (
      loop.maxTokens !== undefined &&
      !loop.uncounted &&
      (usage?.input_tokens == null || usage.output_tokens == null)
    )
      return fail(
        `max_tokens is ${loop.maxTokens}, and ${first.shown} does not say how many tokens it uses ` +
          '(unknown_cost=allow goes on without knowing)',
      );

    if (calls.length === 0) {
      const last = lastWord(answer.text, loop);
      if (last.report !== undefined) return end(last.report);
      vain += 1;
      if (vain > patience) return fail(`"${first.model}" gave no answer: ${last.why}`);
      turns.push({ by: 'us', text: last.tell });
      continue;
    }

    const results: ToolResult[] = [];
    const finishes: FunctionCall[] = [];
    for (const [n, call] of calls.entries()) {
      const stop = stopped();
      if (stop !== undefined) return end(stop);
      if (loop.finish && call.name === finishTool.name) {
        finishes.push(call);
        continue;
      }
      const started = clock.monotonic();
      const result =
        n < mostCalls ? await work.carryOut(call) : refused(`more than ${mostCalls} calls at once`);
      results.push(result);
      turns.push({ by: 'tool', call, text: result.text });
      record.add({
        type: 'call',
        turn,
        id: call.id,
        name: call.name,
        arguments: asJson(call.arguments),
        ok: result.ok,
        ms: Math.round(clock.monotonic() - started),
        result: result.text,
      });
    }
    const stop = stopped();
    if (stop !== undefined) return end(stop);
    for (const call of finishes) {
      const done = finished(call.arguments, results);
      if ('report' in done) return end(done.report);
      const result = refused(done.problem);
      results.push(result);
      turns.push({ by: 'tool', call, text: result.text });
      record.add({
        type: 'call',
        turn,
        id: call.id,
        name: call.name,
        arguments: asJson(call.arguments),
        ok: false,
        result: result.text,
      });
    }
    await record.save();
    const answered = turns.slice(-results.length).flatMap((one) => (one.by === 'tool' ? [one] : []));
    const remembered = [];
    for (const { call, text } of answered) remembered.push(await work.remembered(call, { ok: true, text }));
    switch (circle.turn(remembered)) {
      case 'stop': {
        const [call] = calls;
        return fail(
          `"${first.model}" made the same call again and again, without any change: ` +
            `${call?.name} ${(call?.arguments ?? '').slice(0, 200)}`,
        );
      }
      case 'tell':
        addNote(
          turns,
          '[note: you made these calls before, and nothing has changed since: do something else, or come to an end. ' +
            'The work is stopped if this goes on]',
        );
        break;
      case 'go on':
    }
  }
}

/** Adds words of ours to the last result: not every server takes a message between results and answer. */
function addNote(turns: Turn[], note: string | undefined): void {
  if (note === undefined) return;
  const last = turns.at(-1);
  if (last !== undefined && last.by !== 'model')
    turns[turns.length - 1] = { ...last, text: `${last.text}\n\n${note}` };
  else turns.push({ by: 'us', text: note });
}

const tokensOf = (usage: Usage | undefined): number =>
  (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);

/** A result stands in the record with its call already; what was added to it is of interest. */
function shownTurn(turn: Exclude<Turn, { by: 'model' }>): JsonObject {
  if (turn.by === 'us') return { by: 'us', text: turn.text };
  const note = /\n\n(\[note: [^\n]*\])$/.exec(turn.text)?.[1];
  return { by: 'tool', id: turn.call.id, ...(note === undefined ? {} : { note }) };
}

type LastWord =
  | { readonly report: AgentReport }
  | { readonly report?: undefined; readonly why: string; readonly tell: string };

/** An answer without calls: the end, if there is something in it. */
function lastWord(text: string, loop: Loop): LastWord {
  if (text.trim() === '') return { why: 'it stopped without a word', tell: nothingSaid(loop.finish) };
  if (!loop.finish) return { report: { kind: 'answered', text } };
  const read = finished(text, []);
  if ('report' in read) return read;
  // Prose is an answer as well; one that tries to be the other kind should be that.
  const tries = /^\s*(?:```\w*\s*)?\{/.test(text) && /"outcome"\s*:/.test(text);
  return tries
    ? { why: read.problem, tell: `${read.problem}. Call finish instead.` }
    : { report: { kind: 'answered', text } };
}

/** The model's own say on how it went, after these calls of the same turn. */
function finished(
  text: string,
  others: readonly ToolResult[],
): { readonly report: AgentReport } | { readonly problem: string } {
  const read = parseAnswer(text);
  if ('problem' in read) return { problem: `the answer ${read.problem}` };
  const { answer } = read;
  const reserved = reservedKeyIn(answer.updates);
  if (reserved !== undefined)
    return { problem: `context_updates may not set "${reserved}", a key of the engine's own` };
  if (others.some(({ ok }) => !ok))
    return { problem: 'other calls of this turn failed: look at their results, then call finish alone' };
  const bad = answer.outcome === 'fail' || answer.outcome === 'retry';
  return {
    report: {
      kind: 'finished',
      ...answer,
      reason: bad && answer.reason.trim() === '' ? answer.notes : answer.reason,
      response: `${JSON.stringify(asJson(text), null, 2)}\n`,
    },
  };
}
