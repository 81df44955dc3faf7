/** The JSON lines of `claude -p --output-format stream-json` as lines of a session. Pure. */
import * as z from 'zod';
import type { Json } from '../core/json.ts';
import { once } from '../core/once.ts';
import type { SessionLine } from '../core/records/session.ts';
import { claudeActionOf, claudeNumbersSchema, claudeTokensIn } from './claude-events.ts';
import { jsonLine } from './program/lines.ts';

const textBlocks = once(() => z.array(z.looseObject({ type: z.string(), text: z.string().optional() })));
const blockSchema = once(() =>
  z.looseObject({
    type: z.string(),
    text: z.string().optional(),
    thinking: z.string().optional(),
    id: z.string().optional(),
    name: z.string().optional(),
    input: z.looseObject({}).optional().catch(undefined),
    tool_use_id: z.string().optional(),
    content: z.union([z.string(), textBlocks()]).optional().catch(undefined),
    is_error: z.boolean().optional(),
  }),
);
const stepSchema = once(() =>
  z.looseObject({
    type: z.string(),
    subtype: z.string().optional(),
    model: z.string().optional(),
    message: z
      .looseObject({
        id: z.string().optional().catch(undefined),
        content: z.union([z.string(), z.array(blockSchema())]).optional(),
        usage: claudeNumbersSchema().optional().catch(undefined),
      })
      .optional()
      .catch(undefined),
    is_error: z.boolean().optional(),
    result: z.string().optional(),
  }),
);
type Block = z.infer<ReturnType<typeof blockSchema>>;
type Step = z.infer<ReturnType<typeof stepSchema>>;

/** Answers each line with those of the session. A message of the model is a turn: it comes in several lines, and reports its usage at
 *  its beginning, so that its output is a lower bound. */
export function claudeSession(): (line: string) => readonly SessionLine[] {
  let message: string | undefined;
  /** The model was asked, and has said nothing yet. */
  let isAsked = false;
  const ask = (): readonly SessionLine[] => {
    if (isAsked) return [];
    isAsked = true;
    return [{ type: 'turn' }];
  };
  let model: string | undefined;
  return (line) => {
    const step = jsonLine(line, stepSchema());
    if (step === undefined) return [];
    switch (step.type) {
      case 'system':
        model = step.model ?? model;
        return step.subtype === 'init' ? ask() : [];
      case 'assistant': {
        const id = step.message?.id;
        const asked = id === undefined || id !== message ? ask() : [];
        message = id;
        isAsked = false;
        return [...asked, ...blocksOf(step).flatMap(spokenLines), ...used(step, model)];
      }
      case 'user':
        return [...blocksOf(step).flatMap(settled), ...ask()];
      case 'result':
        return step.is_error === true ? [{ type: 'note', text: step.result ?? step.subtype ?? '' }] : [];
      default:
        return [];
    }
  };
}

const blocksOf = ({ message }: Step): readonly Block[] =>
  Array.isArray(message?.content) ? message.content : [];

function used({ message }: Step, model: string | undefined): readonly SessionLine[] {
  if (message?.usage === undefined) return [];
  const { inputTokens, cachedTokens, outputTokens } = claudeTokensIn(message.usage);
  return [
    {
      type: 'usage',
      ...(model === undefined ? {} : { model }),
      ...{ input_tokens: inputTokens, cached_input_tokens: cachedTokens, output_tokens: outputTokens },
      incomplete: true,
    },
  ];
}

function spokenLines(block: Block): readonly SessionLine[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text ?? '' }];
    case 'thinking':
      return [{ type: 'reasoning', text: block.thinking ?? '' }];
    case 'tool_use': {
      const { name = '', input = {} } = block;
      const { detail } = claudeActionOf(name, input);
      const about = detail.startsWith(`${name} `) ? detail.slice(name.length + 1) : detail;
      return [
        {
          ...{ type: 'call', ...(block.id === undefined ? {} : { id: block.id }), name },
          ...{ detail: about === name ? '' : about, arguments: input as Json }, // parsed from JSON
        },
      ];
    }
    default:
      return [];
  }
}

function settled(block: Block): readonly SessionLine[] {
  if (block.type !== 'tool_result') return [];
  const { content = '', tool_use_id: id, is_error: isError } = block;
  const output =
    typeof content === 'string' ? content : content.map(({ type, text }) => text ?? `[${type}]`).join('\n');
  return [{ type: 'result', ...(id === undefined ? {} : { id }), ok: isError !== true, output }];
}
