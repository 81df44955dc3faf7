/** Carries out the calls that a model makes in one turn. */
import type { AgentReport } from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import { mostGivenLevels, parseJson } from '../../core/json.ts';
import { nearest } from '../../core/nearest.ts';
import { finished, finishTool } from './finish.ts';
import type { FunctionCall, Turn } from './request.ts';
import { asJson } from './session.ts';
import { bounded, refusedCall, type Tool, type ToolContext, type ToolResult } from './tools/tool.ts';
import type { Transcript } from './transcript.ts';

/** Calls of one turn that are carried out, and characters that all their results may have. */
const mostCalls = 50;
const mostResults = 200_000;
/** However long the results before it were, so many characters of a result are passed on. */
const leastResult = 2_000;

type CallDeps = {
  readonly tools: readonly Tool[];
  /** Whether the model may call `finish`. */
  readonly finish: boolean;
  readonly context: Omit<ToolContext, 'call'>;
  readonly record: Transcript;
  readonly clock: Clock;
  /** The report once the work has been stopped. */
  readonly stopped: () => AgentReport | undefined;
};

/** The results as turns of the talk; with a report the work has ended. */
type CallsEnd =
  | { readonly results: readonly Turn[]; readonly report?: never }
  | { readonly results?: readonly Turn[]; readonly report: AgentReport };

/** Carries out calls in order, `finish` after all others: their results as turns of the talk, or the report that ends the
 *  work. Rejects only where the task's `run` and `keep` do. */
export function callRunner(deps: CallDeps) {
  const { record, clock, stopped } = deps;
  const isFinish = ({ name }: FunctionCall) => deps.finish && name === finishTool.name;
  let number = 0;
  return async (calls: readonly FunctionCall[], turn: number): Promise<CallsEnd> => {
    const results: Turn[] = [];
    let room = mostResults;
    let someFailed = false;
    const add = (call: FunctionCall, whole: ToolResult, ms: number): void => {
      const text = bounded(whole.text, Math.max(room, leastResult));
      room -= text.length;
      someFailed ||= !whole.ok;
      results.push({ by: 'tool', call, text });
      const { id, name } = call;
      record.add({
        type: 'call',
        turn,
        id,
        name,
        arguments: asJson(call.arguments),
        ok: whole.ok,
        ms,
        result: text,
      });
    };
    for (const call of calls.filter((one) => !isFinish(one))) {
      const stop = stopped();
      if (stop !== undefined) return { report: stop };
      const began = clock.monotonic();
      number += 1;
      const result =
        results.length < mostCalls
          ? await carryOut(call, number, deps)
          : refusedCall(`more than ${mostCalls} calls at once`);
      add(call, result, Math.round(clock.monotonic() - began));
    }
    const stop = stopped();
    if (stop !== undefined) return { report: stop };
    const ends = calls
      .filter(isFinish)
      .map((call) => ({ call, end: finished(call.arguments, someFailed, deps.context.task) }));
    const reports = ends.flatMap(({ end }) => ('report' in end ? [end] : []));
    const [first] = reports;
    if (first !== undefined && reports.every((one) => saysTheSame(one, first))) {
      const noted = calls.filter(isFinish).map((call): Turn => ({ by: 'tool', call, text: 'noted' }));
      return { ...first, results: [...results, ...noted] };
    }
    for (const { call, end } of ends)
      add(
        call,
        refuse(call, 'problem' in end ? end.problem : 'finish was called with two outcomes', deps.context),
        0,
      );
    return { results };
  };
}

type Ended = { readonly report: AgentReport };
const saysTheSame = ({ report: a }: Ended, { report: b }: Ended): boolean =>
  a.kind === 'finished' && b.kind === 'finished' && a.outcome === b.outcome && a.label === b.label;

const identityOf = (call: FunctionCall): string => `${call.name} ${call.arguments}`;

/** A call that cannot be made is an action as well: one made again and again is a stalled agent's. */
function refuse(call: FunctionCall, problem: string, { task }: CallDeps['context']): ToolResult {
  const detail = call.name.slice(0, 100);
  task.acted({ action: 'tool_call', detail, status: 'failed', identity: identityOf(call) });
  return refusedCall(problem);
}

async function carryOut(call: FunctionCall, number: number, deps: CallDeps): Promise<ToolResult> {
  const { tools, finish, context } = deps;
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) {
    const names = [...tools.map(({ name }) => name), ...(finish ? [finishTool.name] : [])];
    const near = nearest(call.name, names);
    const hint = near === undefined ? `there are ${names.join(', ')}` : `did you mean "${near}"?`;
    return refuse(call, `there is no tool "${call.name.slice(0, 100)}": ${hint}`, context);
  }
  const read = argumentsOf(call.arguments);
  if ('problem' in read) return refuse(call, read.problem, context);
  const prepared = tool.prepare(read.value);
  if ('problem' in prepared)
    return refuse(call, `the arguments of ${tool.name} do not fit: ${prepared.problem}`, context);
  const result = await prepared.run({ ...context, call: number });
  context.task.acted({
    ...prepared.action,
    status: result.ok ? 'completed' : 'failed',
    identity: identityOf(call),
  });
  return { ...result, text: bounded(result.text) };
}

function argumentsOf(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: parseJson(text.trim() === '' ? '{}' : text, mostGivenLevels) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      problem: `the arguments are no JSON (${why.slice(0, 200)}): call the tool again with a whole JSON object`,
    };
  }
}
