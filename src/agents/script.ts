/** An agent script: prepared answers that replace a model, node by node and call by call. */
import * as z from 'zod';
import type { Diagnostic } from '../core/diagnostic.ts';
import { mapJson, positionAt } from '../core/json-places.ts';
import { once } from '../core/once.ts';
import { failureClasses } from '../core/outcome.ts';
import { schemaOfFile } from '../core/records/json-forms.ts';
import { nodeId } from '../core/records/names.ts';

const tokens = once(() => z.int().nonnegative().nullable().default(null));

const scriptUsageSchema = once(() =>
  z
    .strictObject({
      model: z.string().default('scripted'),
      input_tokens: tokens(),
      output_tokens: tokens(),
      cached_input_tokens: z.int().nonnegative().nullable().exactOptional(),
      reasoning_tokens: z.int().nonnegative().nullable().exactOptional(),
      cost_usd: z.number().nonnegative().nullable().default(null),
      incomplete: z.literal(true).exactOptional(),
      parts: z
        .array(
          z.strictObject({
            model: z.string(),
            input_tokens: tokens(),
            output_tokens: tokens(),
            cached_input_tokens: z.int().nonnegative().nullable().exactOptional(),
            cost_usd: z.number().nonnegative().nullable().default(null),
          }),
        )
        .exactOptional()
        .describe('Where several models had a share: the same tokens, by model'),
    })
    .describe('Usage that the call reports; a missing number is unknown, never zero.'),
);

/** A check that an object has one of these keys, and no other of them. */
const exactlyOneOf =
  <K extends string>(kinds: readonly K[]) =>
  (value: { readonly [key in K]?: unknown }, context: z.RefinementCtx): void => {
    const given = kinds.filter((kind) => value[kind] !== undefined);
    if (given.length === 1) return;
    const what = given.length === 0 ? 'has none of them' : `has ${given.join(' and ')}`;
    context.addIssue({
      code: 'custom',
      message: `must have exactly one of ${kinds.join(', ')}, but ${what}`,
    });
  };

const answerKinds = ['text', 'json', 'file', 'fail', 'finished'] as const;

const workspacePath = once(() =>
  z
    .string()
    .min(1)
    .refine(
      (path) =>
        !path.startsWith('/') &&
        !path.split('/').some((part) => part === '' || part === '.' || part === '..'),
      'must be a path inside the workspace, relative to it',
    ),
);
const siblingSchema = once(() =>
  z
    .string()
    .min(1)
    .refine((path) => !path.startsWith('/'), 'must be a path relative to the script'),
);

const changeKinds = ['content', 'content_file', 'base64', 'link', 'delete'] as const;

const fileEffectSchema = once(() =>
  z
    .strictObject({
      path: workspacePath().describe('Relative to the workspace'),
      content: z.string().optional().describe('The new text of the file, whole'),
      content_file: siblingSchema()
        .optional()
        .describe('A file with the new content, relative to the script'),
      base64: z.base64().optional().describe('The new content, for files that are not text'),
      link: z.string().min(1).optional().describe('Target of a symbolic link'),
      delete: z.literal(true).optional(),
      mode: z
        .string()
        .regex(/^[0-7]{3,4}$/, 'must be an octal mode such as 644 or 755')
        .optional()
        .describe('Permission bits, octal'),
    })
    .superRefine(exactlyOneOf(changeKinds)),
);
export type FileEffect = z.infer<ReturnType<typeof fileEffectSchema>>;

const finishedSchema = once(() =>
  z
    .strictObject({
      outcome: z
        .string()
        .min(1)
        .describe('success, partial_success, retry, fail, or a word that an edge names'),
      preferred_next_label: z.string().default(''),
      suggested_next_ids: z.array(z.string().min(1)).default([]),
      notes: z.string().default(''),
      failure_reason: z.string().default(''),
      context_updates: z.record(z.string(), z.json()).default({}),
      verification_plan: z.json().optional(),
      response: z.string().optional(),
    })
    .describe('The report of an agent that works in several turns'),
);

const answerZodSchema = once(() =>
  z
    .strictObject({
      text: z.string().optional().describe('The answer, unchanged'),
      json: z.json().optional().describe('The answer as a value; it is written with two-space indent'),
      file: siblingSchema().optional().describe('A file with the answer, relative to the script'),
      fail: z
        .strictObject({
          class: z.enum(failureClasses),
          reason: z.string().min(1),
          model: z.enum(['api', 'output']).optional().describe('The cause, for the exit code of the run'),
          response: z.string().optional().describe('The part of the answer that had arrived'),
        })
        .optional()
        .describe('The call fails'),
      finished: finishedSchema().optional(),
      files: z
        .array(fileEffectSchema())
        .optional()
        .describe('Changes that the agent makes in the workspace, in this order'),
      usage: scriptUsageSchema().optional(),
    })
    .superRefine(exactlyOneOf(answerKinds)),
);

export const agentScriptSchema = once(() =>
  z.strictObject({
    $schema: schemaOfFile(),
    format: z.literal('factory-script/1'),
    inputs: z
      .record(
        z.string(),
        z
          .string()
          .regex(/^[0-9a-f]{64}$/i, 'must be a SHA-256 in hex')
          .toLowerCase(),
      )
      .default({})
      .describe('SHA-256 of each input that the answers were made for, by variable name'),
    note: z.string().default(''),
    answers: z
      .record(nodeId(), z.array(answerZodSchema()))
      .describe('For each node its answers: the n-th is the n-th call'),
  }),
);
export type AgentScript = z.infer<ReturnType<typeof agentScriptSchema>>;

/** Parses a script. The diagnostics name `file`, point at the offending part of `text` and list every problem. */
export function parseAgentScript(
  file: string,
  text: string,
): { readonly script: AgentScript } | { readonly diagnostics: readonly Diagnostic[] } {
  const at = (code: string, message: string, offset: number, fix?: string): Diagnostic => {
    const start = positionAt(text, offset);
    return {
      code,
      severity: 'error',
      message,
      place: { file, span: { start, end: start } },
      ...(fix === undefined ? {} : { fix }),
    };
  };
  const map = mapJson(text);
  if ('problem' in map)
    return { diagnostics: [at('agent-script-json', `not JSON: ${map.problem}`, map.offset)] };
  const twice = map.duplicates.map(({ key, offset }) =>
    at(
      'agent-script-duplicate',
      `"${key}" is given twice; only one of them would count`,
      offset,
      'merge the two',
    ),
  );
  const read = agentScriptSchema().safeParse(JSON.parse(text.replace(/^\ufeff/, '')));
  if (read.success && twice.length === 0) return { script: read.data };
  const wrong = (read.error?.issues ?? []).flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => {
        const where = path.length === 0 ? 'an agent script' : wordsFor(path);
        return at(
          'agent-script-unknown-key',
          `${where} has the unknown key "${key}"`,
          map.offset([...path, key]),
          'remove it, or check its spelling',
        );
      });
    }
    const message =
      issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
    return [
      at(
        'agent-script',
        `${path.length === 0 ? 'the script' : wordsFor(path)}: ${message}`,
        map.offset(path),
      ),
    ];
  });
  const inOrder = [...twice, ...wrong].sort((a, b) => startOf(a) - startOf(b));
  return { diagnostics: inOrder };
}

const startOf = (diagnostic: Diagnostic): number => diagnostic.place?.span.start.offset ?? 0;

/** `answers.plan, answer 2, fail.class`: the path of a finding, counted from 1. */
const wordsFor = (path: readonly string[]): string => {
  const [top, node, index, ...rest] = path;
  if (top !== 'answers' || index === undefined) return path.join('.');
  const inside = rest.length === 0 ? '' : `, ${rest.join('.')}`;
  return `answers.${node}, answer ${Number(index) + 1}${inside}`;
};
