/** A model at work: it calls tools, gets their results, and reports in the end how it went. */
import { realpath } from 'node:fs/promises';
import type { Usage } from '../../core/budget/usage.ts';
import type { AgentReport, AgentTask } from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import { lostThread } from '../../core/fidelity.ts';
import { type AskDeps, ask, type ModelAnswer, stopReport } from './ask.ts';
import { callRunner } from './calls.ts';
import { finishToolFor, instructionsFor, lastMessage } from './finish.ts';
import type { Request, Turn } from './request.ts';
import { timedTask } from './session.ts';
import type { Loop } from './settings.ts';
import { keepTurns, lostByLength } from './thread.ts';
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
  const root = await realpath(task.workspace);
  const conversation = new Conversation(task, loop, first, deps, root, await resolvedScope(root, loop.scope));
  return conversation.work();
}

class Conversation {
  readonly #task: AgentTask;
  readonly #loop: Loop;
  readonly #first: Request;
  readonly #deps: LoopDeps;
  readonly #record: ReturnType<typeof transcript>;
  readonly #instructions: string;
  readonly #specs: NonNullable<Request['talk']>['tools'];
  readonly #runCalls: ReturnType<typeof callRunner>;
  readonly #turns: Turn[] = [];
  /** Tokens of the conversation so far, by the server's last count, before that an estimate: the next turn sends at least
   *  these. */
  #sends = 0;
  #lastText = '';
  #empty = 0;

  constructor(
    task: AgentTask,
    loop: Loop,
    first: Request,
    deps: LoopDeps,
    root: string,
    scope: Awaited<ReturnType<typeof resolvedScope>>,
  ) {
    this.#task = task;
    this.#loop = loop;
    this.#first = first;
    this.#deps = deps;
    const { clock, watch, mask } = deps;
    const record = transcript(task, clock, mask);
    this.#record = record;
    this.#sends = estimateOf(first.earlier);
    this.#instructions = instructionsFor(loop);
    const offered = tools().filter(({ name }) => loop.tools.includes(name));
    this.#specs = [
      ...offered.map(({ name, description, parameters }) => ({ name, description, parameters })),
      ...(loop.finish ? [finishToolFor(task)] : []),
    ];
    this.#runCalls = callRunner({
      tools: offered,
      finish: loop.finish,
      context: { task, root, scope, clock, runMs: loop.runMs, signal: watch.signal },
      record,
      clock,
      stopped: () => (watch.stopped === undefined ? undefined : stopReport(watch.stopped, task, first)),
    });
  }

  async work(): Promise<AgentReport> {
    const { scope, ...limits } = this.#loop;
    this.#record.add({
      ...{ type: 'start', model: this.#first.model, limits, scope },
      ...{ instructions: this.#instructions, prompt: this.#task.prompt },
      ...(this.#task.thread === undefined
        ? {}
        : { thread: this.#task.thread.key, earlier: this.#first.earlier?.length ?? 0 }),
    });
    for (let turn = 1; ; turn += 1) {
      const room = await this.#roomFor(turn);
      if ('report' in room) return this.#end(room.report);
      const got = await this.#askModel(turn, room.tokens);
      if ('report' in got) return this.#end(got.report);
      const step = await this.#take(got.answer, turn);
      if (step !== undefined) return this.#end(step.report);
    }
  }

  /** The tokens that a turn may use; the report where it may not begin. */
  async #roomFor(turn: number): Promise<{ readonly tokens: number } | { readonly report: AgentReport }> {
    const { maxTurns, maxTokens = Number.POSITIVE_INFINITY } = this.#loop;
    const sends = this.#sends;
    const used = this.#deps.used();
    const tokens = tokensOf(used);
    if (turn > maxTurns)
      return { report: agentFailed(`the work was not done within ${maxTurns} turns (max_turns)`) };
    if (turn === 1 && sends > maxTokens)
      return { report: lostThread(`it has about ${sends} tokens, and max_tokens is ${maxTokens}`) };
    if (tokens >= maxTokens || tokens + sends > maxTokens) {
      const next = tokens < maxTokens ? `, and the next call would send about ${sends}` : '';
      const limit = `${maxTokens} tokens (max_tokens; ${tokens} were used${next})`;
      return { report: agentFailed(`the work was not done within ${limit}`) };
    }
    const budget = await this.#task.budget?.(used, sends);
    if (budget !== undefined && 'empty' in budget) {
      const { empty: reason, ...refused } = budget;
      return { report: { kind: 'failed', class: 'budget', reason, ...refused } };
    }
    addNote(this.#turns, nearLimit(this.#loop, turn, tokens));
    return { tokens: Math.min(maxTokens - tokens, budget?.tokens ?? Number.POSITIVE_INFINITY) };
  }

  async #askModel(turn: number, left: number) {
    const { clock } = this.#deps;
    const budget = Math.max(leastBudget, Math.min(this.#first.budget, left));
    const talk = { instructions: this.#instructions, turns: this.#turns, tools: this.#specs };
    const capped = left !== Number.POSITIVE_INFINITY;
    this.#record.asks(turn);
    const asked = timedTask(this.#task, clock);
    const request = { ...this.#first, budget, capped, talk };
    const got = await ask(request, { ...this.#deps, task: asked.task, mayGrow: 2 * budget <= left });
    if ('report' in got)
      return { report: (turn === 1 ? lostByLength(got, this.#first) : undefined) ?? ofLoop(got.report) };
    const { text, reasoning, calls = [], usage } = got.answer;
    this.#record.add({ type: 'answer', turn, text, reasoning, calls, usage: usage ?? null, ...asked.took() });
    return got;
  }

  async #take(answer: ModelAnswer, turn: number): Promise<Step> {
    const { text, usage, items = [], calls = [] } = answer;
    const { maxTokens, uncounted, finish } = this.#loop;
    this.#sends = usage?.input_tokens ?? 0;
    if (text.trim() !== '') this.#lastText = text;
    // What the model says in two turns are two paragraphs.
    if (text !== '' && calls.length > 0) show(this.#task, '\n\n');
    this.#turns.push({ by: 'model', text, items, calls });
    this.#task.log('debug', 'the model answered', { turn, calls: calls.map(({ name }) => name) });
    const isCounted = usage?.input_tokens != null && usage.output_tokens != null;
    if (maxTokens !== undefined && !uncounted && !isCounted)
      return {
        report: agentFailed(
          `max_tokens is ${maxTokens}, and ${this.#first.shown} does not report how many tokens it uses ` +
            '(unknown_cost=allow continues without knowing)',
        ),
      };
    if (calls.length > 0) {
      const { results = [], report } = await this.#runCalls(calls, turn);
      this.#turns.push(...results);
      return report && { report };
    }
    const last = lastMessage(text, finish, this.#task);
    if (last.report !== undefined) return last;
    this.#empty += 1;
    if (this.#empty > mostEmpty)
      return { report: agentFailed(`"${this.#first.model}" gave no answer: ${last.why}`) };
    this.#turns.push({ by: 'user', text: last.reply });
    return undefined;
  }

  async #end(report: AgentReport): Promise<AgentReport> {
    const { kind } = report;
    if (kind === 'finished' || kind === 'answered')
      keepTurns(this.#task, this.#first.earlier ?? [], this.#turns, this.#deps.mask);
    const outcome = kind === 'finished' ? { outcome: report.outcome } : {};
    const why = kind === 'failed' ? { class: report.class, reason: report.reason } : {};
    this.#record.add({ type: 'end', kind, ...outcome, ...why, usage: this.#deps.used() ?? null });
    await this.#record.save();
    const keepsText = kind === 'failed' && report.response === undefined && this.#lastText !== '';
    return keepsText ? { ...report, response: this.#lastText } : report;
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

/** About so many tokens were said in earlier tasks. */
const estimateOf = (earlier: readonly Turn[] = []): number =>
  earlier.length === 0 ? 0 : Math.ceil(Buffer.byteLength(JSON.stringify(earlier)) / 4);

const tokensOf = (usage: Usage | undefined): number =>
  (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
