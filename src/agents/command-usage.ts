/** What a command reports of its model calls: JSON objects in its usage file. */
import * as z from 'zod';
import { reportedNumberSchema, sumOfUsages, type Usage } from '../core/budget/usage.ts';
import { once } from '../core/once.ts';
import { readAnswerFile } from './program/answer.ts';

const count = once(() => z.int().nonnegative().nullish());

/** One call, or several together. Tokens of input include cached ones, those of output the ones of reasoning. */
const callSchema = once(() =>
  z.object({
    model: z.string().min(1).nullish(),
    input_tokens: count(),
    output_tokens: count(),
    cached_input_tokens: count(),
    reasoning_tokens: count(),
    cost_usd: reportedNumberSchema().nullish(),
  }),
);

/** The sum of what the file at `path` reports: a JSON object, or one a line for each call. Undefined when there is no such
 *  file; `problem` reads after "the usage file". A last line that was cut off counts as a part that was not reported. `model`
 *  is meant where the file names none. */
export async function readUsage(
  path: string,
  model: string | undefined,
): Promise<((Read | Problem) & { readonly text?: string }) | undefined> {
  const file = await readAnswerFile(path);
  if (file === undefined || 'problem' in file) return file;
  return { ...usageIn(file.text, model), text: file.text };
}

type Read = { readonly usage: Usage };
type Problem = { readonly problem: string };

function usageIn(text: string, model: string | undefined): Read | Problem {
  const whole = parsed(text);
  if (whole !== undefined) return usageOf(whole, model);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  let sum: Usage | undefined;
  for (const [at, line] of lines.entries()) {
    const value = parsed(line);
    if (value === undefined && at === lines.length - 1 && sum !== undefined)
      return { usage: { ...sum, incomplete: true } };
    const one =
      value === undefined ? { problem: 'is neither a JSON object nor one a line' } : usageOf(value, model);
    if ('problem' in one) return lines.length > 1 ? { problem: `${one.problem} (line ${at + 1})` } : one;
    sum = sumOfUsages(sum, one.usage);
  }
  return sum === undefined ? { problem: 'is empty' } : { usage: sum };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

function usageOf(value: unknown, model: string | undefined): Read | Problem {
  const read = callSchema().safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    const where = issue?.path.join('.') ?? '';
    return {
      problem: where === '' ? 'is no JSON object' : `has no usable ${where}: ${issue?.message ?? ''}`,
    };
  }
  const { data } = read;
  return {
    usage: {
      model: data.model ?? model ?? 'command',
      input_tokens: data.input_tokens ?? null,
      output_tokens: data.output_tokens ?? null,
      ...(data.cached_input_tokens == null ? {} : { cached_input_tokens: data.cached_input_tokens }),
      ...(data.reasoning_tokens == null ? {} : { reasoning_tokens: data.reasoning_tokens }),
      cost_usd: data.cost_usd ?? null,
    },
  };
}
