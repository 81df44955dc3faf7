/** What an agent program answered: a JSON object that says how the work went. */
import { lstat, readFile } from 'node:fs/promises';
import type { Json, JsonObject } from '../../model/json.ts';
import { extractJson } from '../../model/json-text.ts';
import { agentOutcomeOf, agentOutcomes } from '../../model/outcome.ts';
import { isMissing, removeNow } from '../../system/files.ts';
import type { AgentReport } from '../agent.ts';

type Finished = Extract<AgentReport, { kind: 'finished' }>;
export type Answer = Omit<Finished, 'kind' | 'response' | 'usage' | 'reasoning' | 'artifacts'>;

/** Bytes of the longest answer. */
const longestAnswer = 10 * 1024 * 1024;

export type AnswerFile =
  | { readonly text: string }
  /** `problem` reads after "the answer"; `text` is what of it can be shown. */
  | { readonly problem: string; readonly text?: string };

/** The answer file; undefined when the program wrote none. What is no plain file of a bearable size is taken away,
 *  unless it is `evidence` that stays whatever it is. */
export async function readAnswer(path: string, evidence?: 'evidence'): Promise<AnswerFile | undefined> {
  let bytes: Buffer;
  try {
    const is = await lstat(path);
    // A link would make another file the answer, and a pipe would never end.
    if (!is.isFile() || is.size > longestAnswer) {
      if (evidence === undefined) removeNow(path);
      return { problem: is.isFile() ? `is larger than ${longestAnswer} bytes` : 'is no plain file' };
    }
    bytes = await readFile(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'is not UTF-8 text', text: bytes.toString('utf8') };
  }
}

/** Reads an answer. `problem` begins with `is not valid JSON`, `missing outcome`, or names the field that is wrong.
 *  Fields other than `outcome` may be left out or null; unknown fields are ignored. */
export function parseAnswer(text: string): { readonly answer: Answer } | { readonly problem: string } {
  const read = extractJson(text);
  if ('problem' in read) return { problem: `is not valid JSON: ${read.problem}` };
  const said = read.value;
  if (!isObject(said)) return { problem: `is ${kindOf(said)} instead of a JSON object` };
  const field = (name: string): Json | undefined =>
    Object.hasOwn(said, name) ? (said[name] ?? undefined) : undefined;
  const spoken = field('outcome');
  if (spoken === undefined || (typeof spoken === 'string' && spoken.trim() === ''))
    return { problem: 'missing outcome' };
  const word = typeof spoken === 'string' ? spoken.trim() : undefined;
  const outcome = word === undefined ? undefined : agentOutcomeOf(word);
  if (outcome === undefined) {
    const known = agentOutcomes.join(', ');
    return { problem: `has the outcome ${JSON.stringify(spoken).slice(0, 80)}, which is none of ${known}` };
  }
  for (const name of ['preferred_next_label', 'notes', 'failure_reason']) {
    const value = field(name);
    if (value !== undefined && typeof value !== 'string') return { problem: wrong(name, value, 'a string') };
  }
  const suggested = field('suggested_next_ids') ?? [];
  if (!isTexts(suggested)) return { problem: wrong('suggested_next_ids', suggested, 'an array of strings') };
  const updates = field('context_updates') ?? {};
  if (!isObject(updates)) return { problem: wrong('context_updates', updates, 'an object') };
  const plan = field('verification_plan');
  if (plan !== undefined && !isPlan(plan))
    return {
      problem: wrong('verification_plan', plan, 'null or an object of string arrays "files" and "commands"'),
    };
  const textOf = (name: string): string => {
    const value = field(name);
    return typeof value === 'string' ? value : '';
  };
  const [notes, reason] = [textOf('notes'), textOf('failure_reason')];
  const bad = outcome === 'fail' || outcome === 'retry';
  return {
    answer: {
      outcome,
      label: textOf('preferred_next_label'),
      suggested: suggested.filter((id) => id !== ''),
      notes,
      // A reason that is only in the notes is a reason as well.
      reason: bad && reason.trim() === '' ? notes : reason,
      updates,
      ...(plan === undefined ? {} : { verificationPlan: plan }),
    },
  };
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isTexts = (value: Json | undefined): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

const isPlan = (value: Json): boolean =>
  isObject(value) &&
  ['files', 'commands'].every((name) => !Object.hasOwn(value, name) || isTexts(value[name]));

const kindOf = (value: Json): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'an array'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`;

const wrong = (name: string, value: Json, wanted: string): string =>
  `has ${name} wrong: ${kindOf(value)} instead of ${wanted}`;
