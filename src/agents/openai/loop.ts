/** A model at work: it calls tools, gets their results, and reports in the end how it went. */
import { realpath } from 'node:fs/promises';
import type { Clock } from '../../system/clock.ts';
import type { AgentReport, AgentTask, Usage } from '../agent.ts';
import { type Answer, type AskDeps, ask, stopReport } from './ask.ts';
import { callRunner } from './calls.ts';
import { finishTool, instructionsFor, lastMessage } from './finish.ts';
import type { Loop } from './mode.ts';
import type { Request, Turn } from './request.ts';
import { tools } from './tools/index.ts';
import { resolvedScope } from './tools/place.ts';
import { transcript } from './transcript.ts';

type LoopDeps = Omit<AskDeps, 'mayGrow'> & {
  readonly clock: Clock;
  readonly mask: (text: string) => string;
  /** What all turns so far have used. */
  readonly used: () => Usage | undefined;
};

/** Times that a model is asked again after an answer that is none. */
const mostEmpty = 2;
/** Tokens: servers refuse to answer in fewer. */
const leastBudget = 16;

/** What is done next: the turn counts, or the work ends. */
type Step = { readonly report: AgentReport } | undefined;

/** Works until the model is done, a limit is reached, or the task is stopped. `first` is the request without a talk.
 *  Rejects only where the task's `run` and `keep` do. */
export async function toolLoop(
  task: AgentTask,
  loop: Loop,
  first: Request,
  deps: LoopDeps,
): Promise<AgentReport> {
  const { clock, watch, used } = deps;
  const record = transcript(task, clock, deps.mask);
  const instructions = instructionsFor(loop);
  const { scope, ...limits } = loop;
  record.add({ type: 'start', model: first.model, limits, scope, instructions, prompt: task.prompt });

  const root = await realpath(task.workspace);
  const offered = tools.filter(({ name }) => loop.tools.includes(name));
  const specs = [
    ...offered.map(({ name, description, parameters }) => ({ name, description, parameters })),
    ...(loop.finish ? [finishTool] : []),
  ];
  const runCalls = callRunner({
    tools: offered,
    finish: loop.finish,
    context: {
      task,
      root,
      scope: await resolvedScope(root, scope),
      clock,
      runMs: loop.runMs,
      signal: watch.signal,
    },
    record,
    clock,
    stopped: () => (watch.stopped === undefined ? undefined : stopReport(watch.stopped, task, first)),
  });
  const turns: Turn[] = [];
  /** Tokens of the conversation so far, by the server's last count: the next turn sends at least these. */
  let sends = 0;
  let said = '';
  let empty = 0;

  for (let turn = 1; ; turn += 1) {
    const room = await roomFor(turn);
    if ('report' in room) return end(room.report);
    const got = await askModel(turn, room.tokens);
    if ('report' in got) return end(got.report);
    const step = await take(got.answer, turn);
    await record.save();
    if (step !== undefined) return end(step.report);
  }

  /** The tokens that a turn may use; the report where it may not begin. */
  async function roomFor(
    turn: number,
  ): Promise<{ readonly tokens: number } | { readonly report: AgentReport }> {
    const { maxTurns, maxTokens = Number.POSITIVE_INFINITY } = loop;
    const tokens = tokensOf(used());
    if (turn > maxTurns)
      return { report: agentFailed(`the work was not done within ${maxTurns} turns (max_turns)`) };
    if (tokens >= maxTokens || tokens + sends > maxTokens) {
      const next = tokens < maxTokens ? `, and the next call would send about ${sends}` : '';
      const limit = `${maxTokens} tokens (max_tokens; ${tokens} were used${next})`;
      return { report: agentFailed(`the work was not done within ${limit}`) };
    }
    const budget = await task.budget?.(used(), sends);
    if (budget !== undefined && 'empty' in budget)
      return { report: { kind: 'failed', class: 'budget', reason: budget.empty } };
    addNote(turns, nearLimit(loop, turn, tokens));
    return { tokens: Math.min(maxTokens - tokens, budget?.tokens ?? Number.POSITIVE_INFINITY) };
  }

  async function askModel(turn: number, left: number) {
    const budget = Math.max(leastBudget, Math.min(first.budget, left));
    const talk = { instructions, turns, tools: specs };
    const capped = left !== Number.POSITIVE_INFINITY;
    const asked = clock.monotonic();
    const got = await ask({ ...first, budget, capped, talk }, { ...deps, mayGrow: 2 * budget <= left });
    if ('report' in got) return { report: ofLoop(got.report) };
    const { text, reasoning, calls = [], usage } = got.answer;
    const ms = Math.round(clock.monotonic() - asked);
    record.add({ type: 'answer', turn, text, reasoning, calls, usage: usage ?? null, ms });
    await record.save();
    return got;
  }

  async function take(answer: Answer, turn: number): Promise<Step> {
    const { text, usage, items = [], calls = [] } = answer;
    sends = usage?.input_tokens ?? 0;
    if (text.trim() !== '') said = text;
    // What the model says in two turns are two paragraphs.
    if (text !== '' && calls.length > 0) show(task, '\n\n');
    turns.push({ by: 'model', text, items, calls });
    task.log('debug', 'the model answered', { turn, calls: calls.map(({ name }) => name) });
    const isCounted = usage?.input_tokens != null && usage.output_tokens != null;
    if (loop.maxTokens !== undefined && !loop.uncounted && !isCounted)
      return {
        report: agentFailed(
          `max_tokens is ${loop.maxTokens}, and ${first.shown} does not report how many tokens it uses ` +
            '(unknown_cost=allow continues without knowing)',
        ),
      };
    if (calls.length > 0) {
      const done = await runCalls(calls, turn);
      if ('report' in done) return done;
      turns.push(...done.results);
      return undefined;
    }
    const last = lastMessage(text, loop.finish);
    if (last.report !== undefined) return last;
    empty += 1;
    if (empty > mostEmpty) return { report: agentFailed(`"${first.model}" gave no answer: ${last.why}`) };
    turns.push({ by: 'user', text: last.reply });
    return undefined;
  }

  async function end(report: AgentReport): Promise<AgentReport> {
    const { kind } = report;
    const outcome = kind === 'finished' ? { outcome: report.outcome } : {};
    const why = kind === 'failed' ? { class: report.class, reason: report.reason } : {};
    record.add({ type: 'end', kind, ...outcome, ...why, usage: used() ?? null });
    await record.save();
    const keepsText = kind === 'failed' && report.response === undefined && said !== '';
    return keepsText ? { ...report, response: said } : report;
  }
}

const agentFailed = (reason: string): AgentReport => ({ kind: 'failed', class: 'agent', reason });

/** No form is asked of an answer in a loop; troubles of the API stay what they are. */
function ofLoop(report: AgentReport): AgentReport {
  if (report.kind !== 'failed' || report.model !== 'output') return report;
  const { model: _, ...rest } = report;
  return rest;
}

function show(task: AgentTask, text: string): void {
  try {
    task.onText?.(text, 'answer');
  } catch {
    // A view that cannot show the text is no reason to lose it.
  }
}

/** A warning for the model that its turns or tokens are nearly used up, or undefined. */
function nearLimit({ maxTurns, maxTokens, finish }: Loop, turn: number, tokens: number): string | undefined {
  const left = maxTurns - turn + 1;
  const near = [
    ...(left <= 3 ? [`turns left: ${left}`] : []),
    ...(maxTokens !== undefined && tokens >= 0.8 * maxTokens ? [`tokens left: ${maxTokens - tokens}`] : []),
  ];
  return near.length === 0
    ? undefined
    : `[note: ${near.join(', ')}; ${finish ? 'call finish' : 'give your answer'} soon]`;
}

/** Adds a note to the last result: not every server takes a message between results and answer. */
function addNote(turns: Turn[], note: string | undefined): void {
  if (note === undefined) return;
  const last = turns.at(-1);
  if (last !== undefined && last.by !== 'model')
    turns[turns.length - 1] = { ...last, text: `${last.text}\n\n${note}` };
  else turns.push({ by: 'user', text: note });
}

const tokensOf = (usage: Usage | undefined): number =>
  (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
