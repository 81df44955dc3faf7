/** The instructions of a model that works with tools, and how its work ends. Pure. */
import { parseAnswer, reportOfText, wordsFor } from '../../core/agent-answer.ts';
import type { AgentReport, AgentTask } from '../../core/contracts/agent.ts';
import { agentOutcomes } from '../../core/outcome.ts';
import { namedLiterals } from '../../core/own-words.ts';
import { reservedKeyIn } from '../../core/policy/reserved-keys.ts';
import { answerProperties, answerSchema } from '../program/answer.ts';
import type { ToolSpec } from './request.ts';
import { asJson } from './session.ts';
import type { Loop } from './settings.ts';

export function instructionsFor({ tools, scope, finish }: Loop): string {
  const writes = tools.some((name) => name === 'write' || name === 'patch' || name === 'run');
  const only =
    scope.writable === undefined
      ? ''
      : ` Only these paths may be written: ${scope.writable.join(', ') || 'none'}.`;
  return [
    'You work in a folder of files, the workspace, by calling the tools that you are given; you cannot ask questions.',
    'All paths are relative to the workspace; nothing outside it can be reached.',
    writes
      ? `Look at a file before you change it, and check what you changed.${only}`
      : 'You cannot change files.',
    ...(only !== '' && tools.includes('run')
      ? ['What a program writes anywhere else is undone, and fails the work.']
      : []),
    'A tool that answers with "error:" did nothing; do something else then, not the same again.',
    finish
      ? 'When the work is done, or cannot be done, call finish once, and report truthfully how it went.'
      : 'When you are done, answer with the text that was asked for and nothing else: your last message is the result.',
  ].join('\n');
}

const updatesByName = { type: 'object', description: 'values for later nodes, by dotted names' };

/** The last call: how the work went. It may set values, which the answer of an agent program may not. */
export const finishTool: ToolSpec = {
  name: 'finish',
  description:
    'Ends the work and reports how it went; the outcome is success only if all that was asked for is done. Call it alone, ' +
    'once, when everything else is done.',
  parameters: {
    ...answerSchema,
    required: ['outcome', 'notes'],
    properties: {
      ...answerProperties,
      context_updates: updatesByName,
    },
  },
};

type LastMessage =
  | { readonly report: AgentReport }
  /** It is no end: why, and what to answer to the model. */
  | { readonly report?: never; readonly why: string; readonly reply: string };

/** The last call, with the words that edges of the node name among its outcomes. */
export function finishToolFor(task: TaskWords): ToolSpec {
  const named = namedLiterals(wordsFor(task));
  if (named.length === 0) return finishTool;
  const outcome = { type: 'string', enum: [...agentOutcomes, ...named] };
  const { parameters } = finishTool;
  const properties = { ...answerProperties, context_updates: updatesByName, outcome };
  return { ...finishTool, parameters: { ...parameters, properties } };
}

/** What decides which words the model may answer. */
export type TaskWords = Pick<AgentTask, 'tested' | 'schema' | 'settings' | 'named'>;

/** A message without calls: the end, if there is something in it. `finish`: the model may call that. */
export function lastMessage(lastText: string, finish: boolean, task: TaskWords): LastMessage {
  if (lastText.trim() === '') {
    const reply = finish ? 'call finish' : 'answer with the text that was asked for';
    return { why: 'its answer was empty', reply: `Your answer was empty. Continue the work, or ${reply}.` };
  }
  if (!finish) return { report: { kind: 'answered', text: lastText } };
  const read = finished(lastText, false, task);
  if ('report' in read) return read;
  // Prose is an answer as well; what tries to be an outcome must be a valid one.
  const isOutcome = /^\s*(?:```\w*\s*)?\{/.test(lastText) && /"outcome"\s*:/.test(lastText);
  const report = isOutcome ? undefined : reportOfText(task, lastText);
  if (report !== undefined && report.kind !== 'failed') return { report };
  const why = report === undefined ? read.problem : report.reason;
  return { why, reply: `${why}. Call finish instead.` };
}

/** The outcome that the model reports. `othersFailed`: another call of the same turn failed, which the model did not know
 *  when it reported. */
export function finished(
  lastText: string,
  othersFailed: boolean,
  task: TaskWords,
): { readonly report: AgentReport } | { readonly problem: string } {
  const read = parseAnswer(lastText, wordsFor(task));
  if ('problem' in read) return { problem: `the answer ${read.problem}` };
  const { answer } = read;
  const reserved = reservedKeyIn(answer.updates);
  if (reserved !== undefined)
    return { problem: `context_updates may not set "${reserved}", which is reserved for the engine` };
  if (othersFailed && answer.outcome !== 'fail' && answer.outcome !== 'retry')
    return { problem: 'other calls of this turn failed: look at their results, then call finish alone' };
  const value = asJson(lastText);
  const response = `${typeof value === 'string' ? lastText.trim() : JSON.stringify(value, null, 2)}\n`;
  return { report: { kind: 'finished', ...answer, response } };
}
