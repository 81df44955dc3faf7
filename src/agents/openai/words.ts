/** What the model is told beside the prompt. Pure. */

import type { JsonObject } from '../../model/json.ts';
import { outcomeWords } from '../../model/outcome.ts';
import type { Loop } from './mode.ts';
import type { ToolWords } from './talk.ts';

/** The rules of the house, in a few lines. */
export function instructionsFor(loop: Loop): string {
  const { tools, scope, finish } = loop;
  const writes = tools.some((name) => name === 'write' || name === 'patch' || name === 'run');
  const only =
    scope.writable === undefined
      ? ''
      : ` Only these paths may be written: ${scope.writable.join(', ') || 'none'}.`;
  return [
    'You work in a folder of files, the workspace, by calling the tools that you are given; nobody answers questions.',
    'All paths are relative to the workspace; nothing outside it can be reached.',
    ...(writes
      ? [`Look at a file before you change it, and check what you changed.${only}`]
      : ['You cannot change files.']),
    ...(writes && only !== '' && tools.includes('run')
      ? ['What a program writes anywhere else is undone, and fails the work.']
      : []),
    'A tool that answers with "error:" did nothing; do something else then, not the same again.',
    finish
      ? 'When the work is done, or cannot be done, call finish once, and say truly how it went.'
      : 'When you are done, answer with the text that was asked for and nothing else: your last message is the result.',
  ].join('\n');
}

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;

/** The last call: how the work went. */
export const finishTool: ToolWords = {
  name: 'finish',
  description: 'Ends the work and says how it went. Call it alone, once, when everything else is done.',
  parameters: {
    type: 'object',
    additionalProperties: false,
    required: ['outcome', 'notes'],
    properties: {
      outcome: {
        type: 'string',
        enum: outcomeWords.filter((word) => word !== 'skipped'),
        description: 'success only if all that was asked for is done',
      },
      notes: { ...text, description: 'what was done' },
      failure_reason: { ...text, description: 'why not, where the outcome is fail or retry' },
      preferred_next_label: text,
      suggested_next_ids: texts,
      context_updates: { type: 'object', description: 'values for later stages, by dotted names' },
      verification_plan: {
        anyOf: [
          {
            type: 'object',
            properties: { files: texts, commands: texts },
            required: ['files', 'commands'],
            additionalProperties: false,
          },
          { type: 'null' },
        ],
      },
    } satisfies JsonObject,
  },
};

/** Said to a model that stopped without a word. */
export const nothingSaid = (finish: boolean): string =>
  finish
    ? 'Your answer was empty. Go on with the work, or call finish.'
    : 'Your answer was empty. Go on with the work, or answer with the text that was asked for.';
