/** What an agent program answered: a JSON object that says how the work went. */
import { bareAnswer, extractJson, objectsIn, timesOfKey } from './answer-json.ts';
import type { AgentReport, AgentTask } from './contracts/agent.ts';
import { isObject, type Json, type JsonObject, own } from './json.ts';
import { mapJson } from './json-places.ts';
import { type AgentOutcome, agentOutcomeOf, agentOutcomes } from './outcome.ts';
import {
  answeredOutcome,
  namedLiterals,
  noOwnWords,
  type OutcomeWords,
  verdictOnly,
  wordsForSuccess,
} from './own-words.ts';
import { isGoalGate } from './settings/node.ts';

type Finished = Extract<AgentReport, { kind: 'finished' }>;
export type AgentAnswer = Omit<Finished, 'kind' | 'response' | 'usage' | 'reasoning' | 'artifacts'>;

/** The words that the node of a task may answer. */
export const wordsFor = ({ settings, named = [] }: Pick<AgentTask, 'settings' | 'named'>): OutcomeWords =>
  isGoalGate(settings) ? verdictOnly : { named, gate: false };

/** Reads an answer that was asked for: a JSON object, in a code fence or after prose too. `problem` begins with `is not valid
 *  JSON`, `missing outcome`, or names the field that is wrong. */
export function parseAnswer(
  text: string,
  words: OutcomeWords = noOwnWords,
): { readonly answer: AgentAnswer } | { readonly problem: string } {
  const bare = bareAnswer(text);
  const read = extractJson(bare);
  if ('problem' in read) {
    const spoken = withLines(objectsSay(bare, outcomeOnly(words)), bare, words);
    return 'none' in spoken ? { problem: `is not valid JSON: ${read.problem}` } : spoken;
  }
  const value = read.value;
  if (!isObject(value)) return { problem: `is ${kindOf(value)} instead of a JSON object` };
  return answerOf(value, bare.slice(bare.indexOf('{')), words);
}

type Verdict = (
  object: JsonObject,
  text: string,
) => { readonly answer: AgentAnswer } | { readonly problem: string } | undefined;
type Spoken = { readonly answer: AgentAnswer } | { readonly problem: string } | { readonly none: true };

/** What an answer says of how the work went, where nothing asked for a form: `none` where it does not try to. An answer that
 *  tries to say it and cannot be read, or that says two things, has a problem: it must not be taken for a success. Where edges test the
 *  outcome (`tested`) a single word tries to say it. */
export function spokenIn(text: string, words: OutcomeWords = noOwnWords, tested = false): Spoken {
  const bare = bareAnswer(text);
  const outcomes = objectsSay(bare, anyOutcome(words));
  const inObjects = 'none' in outcomes ? objectsSay(bare, lastFlag(bare, words, tested)) : outcomes;
  if (!('none' in inObjects)) return withLines(inObjects, bare, words);
  const alone = aloneIn(bare);
  const word = agentWord(alone, tested ? words : verdictOnly);
  if (tested && word === undefined && isOneWord(alone)) return { problem: unknownOutcomeIn(alone, words) };
  const [first] = linesSay(bare, words);
  if (first !== undefined && 'problem' in first) return first;
  const last = bare.trim().split('\n').at(-1) ?? '';
  const answered =
    word ?? first ?? (tested && !last.startsWith('#') ? agentWord(aloneIn(last), words) : undefined);
  if (answered === undefined) return inObjects;
  const rest = bare.trim().split('\n').slice(1).join('\n');
  return withLines({ answer: bareOutcome(answered.outcome, rest, answered.label) }, bare, words);
}

/** A whole answer or line without what marks it up, if it is short. */
const aloneIn = (text: string): string =>
  text.trim().length > 100 ? '' : text.replace(/^[\s*_`"'#>]+|[\s*_`"'.!]+$/g, '');

const isOneWord = (text: string): boolean => /^[\p{L}_][\p{L}\p{N}_.-]{0,63}$/u.test(text);

type OutcomeWord = { readonly outcome: AgentOutcome; readonly label?: string };
type LineWord = OutcomeWord | { readonly problem: string };

/** The answer, unless a line says something else. */
function withLines(spoken: Spoken, bare: string, words: OutcomeWords): Spoken {
  if (!('answer' in spoken)) return spoken;
  const { answer } = spoken;
  for (const line of linesSay(bare, words)) {
    if ('problem' in line) return line;
    const differs =
      line.outcome !== answer.outcome || (line.label !== undefined && line.label !== answer.label);
    if (differs) return { problem: twoOutcomes(answer, line) };
  }
  return spoken;
}

/** Why an outcome that was read does not count: what follows it says another one. */
export function contradictionIn(
  answer: AgentAnswer,
  rest: string,
  words: OutcomeWords,
): { readonly problem: string } | undefined {
  const result = withLines(objectsSay(rest, outcomeOnly(words)), rest, words);
  const [line] = linesSay(rest, words);
  const other =
    'answer' in result ? result.answer : line !== undefined && 'outcome' in line ? line : undefined;
  return other === undefined || other.outcome === answer.outcome
    ? undefined
    : { problem: twoOutcomes(answer, other) };
}

const twoOutcomes = (...both: readonly OutcomeWord[]): string =>
  `says two outcomes, ${both.map(({ outcome, label = '' }) => (label === '' ? outcome : `${outcome} (${label})`)).join(' and ')}`;

/** Outcomes in its first and its last line; those between may be about single steps. A status may be about something else: only
 *  words that are known count. A few words after `Outcome:` are a verdict, more of them are prose. */
function linesSay(bare: string, words: OutcomeWords): readonly LineWord[] {
  const lines = bare.trim().split('\n');
  return [lines[0] ?? '', lines.at(-1) ?? ''].flatMap((line): readonly LineWord[] => {
    const [, name = '', rest = ''] = statusLine.exec(line) ?? [];
    const word = aloneIn(rest) || rest.trim();
    if (word === '') return [];
    const result =
      agentWord(word, words) ??
      agentWord(/^([\p{L}_]+)[*_`"']*(?:[.,;:(]| [-–—(])/u.exec(word)?.[1] ?? '', words);
    if (result !== undefined) return [result];
    const isVerdict = name.toLowerCase() === 'outcome' && word.split(/\s+/).length <= 3;
    return isVerdict ? [{ problem: unknownOutcomeIn(word, words) }] : [];
  });
}

/** A line such as `STATUS: fail` or `**Outcome:** success (all tests pass)`. */
const statusLine = /^[\s*#_`>-]*(outcome|status|verdict|result)[\s*_`]*[:=](.*)$/iu;

/** Why a word is no outcome, after "the answer". */
export const unknownOutcomeIn = (word: unknown, words: OutcomeWords): string =>
  `has the outcome ${JSON.stringify(word).slice(0, 80)}, which is none of ${[...agentOutcomes, ...namedLiterals(words)].join(', ')}`;

/** What a text means where nothing but the prompt gave it a form: an outcome that it says counts if edges test the node's outcome,
 *  unless the text is a document that the next node reads. A goal gate judges its answer itself. */
export function reportOfText(
  task: Pick<AgentTask, 'tested' | 'schema' | 'settings' | 'named'>,
  text: string,
): AgentReport {
  const isDocument = task.schema !== undefined || task.settings.response_file !== undefined;
  if (task.tested !== true || isDocument) return { kind: 'answered', text };
  const spoken = spokenIn(text, wordsFor(task), true);
  if ('answer' in spoken) return { kind: 'finished', ...spoken.answer, response: text };
  if ('none' in spoken) return { kind: 'answered', text };
  const reason = `the answer ${spoken.problem}`;
  return { kind: 'failed', class: 'agent', reason, model: 'output', response: text };
}

/** The outcome of an answer that is written to a file or has another schema: only an object that has one at its top, or begins
 *  with one and cannot be read, is an answer about the work. */
export function documentVerdict(
  text: string,
  words: OutcomeWords = noOwnWords,
): { readonly answer: AgentAnswer } | { readonly problem: string } | undefined {
  const bare = bareAnswer(text).trim();
  const [first] = bare.startsWith('{') ? objectsIn(bare) : [];
  if (first === undefined) return undefined;
  if ('broken' in first)
    return /^\{\s*["']?outcome\b/.test(first.broken) ? { problem: cannotRead(first.broken) } : undefined;
  const isWhole = first.text.length === bare.length;
  return isWhole && outcomeKey(first.object) !== undefined
    ? answerOf(first.object, first.text, words)
    : undefined;
}

/** What the objects say together; of several that agree the last one has the most to say. */
function objectsSay(bare: string, verdict: Verdict): Spoken {
  const answers: AgentAnswer[] = [];
  for (const found of objectsIn(bare)) {
    if ('broken' in found) {
      if (/[{,\n]\s*["']?outcome["']?\s*:/.test(found.broken)) return { problem: cannotRead(found.broken) };
      continue;
    }
    const read = verdict(found.object, found.text);
    if (read === undefined) continue;
    if ('problem' in read) return read;
    answers.push(read.answer);
  }
  const last = answers.at(-1);
  if (last === undefined) return { none: true };
  const other = answers.find(({ outcome, label }) => outcome !== last.outcome || label !== last.label);
  if (other === undefined) return { answer: last };
  return { problem: twoOutcomes(other, last) };
}

/** Only an outcome under its own name. */
const outcomeOnly =
  (words: OutcomeWords): Verdict =>
  (object, text) =>
    outcomeKey(object) === undefined ? undefined : answerOf(object, text, words);

/** The name under which an object has its outcome, in any case. */
const outcomeKey = (object: JsonObject): string | undefined =>
  Object.keys(object).find((key) => key.trim().toLowerCase() === 'outcome');

const cannotRead = (text: string): string => {
  const read = extractJson(text);
  return `is not valid JSON: ${'problem' in read ? read.problem : 'the object with its outcome cannot be read'}`;
};

/** A key that programs read as another object's: what is in it says nothing. */
const prototypeKey = '__proto__';

/** An object's own outcome, or that of an object it has. */
const anyOutcome =
  (words: OutcomeWords): Verdict =>
  (object, text) => {
    if (outcomeKey(object) !== undefined) return answerOf(object, text, words);
    if (Object.hasOwn(object, prototypeKey)) return { problem: `has the key "${prototypeKey}"` };
    const inner = Object.values(object).find(
      (value): value is JsonObject => isObject(value) && typeof own(value, 'outcome') === 'string',
    );
    if (inner === undefined) return undefined;
    return timesOfKey(text, 'outcome', 2) > 1
      ? { problem: 'says several outcomes' }
      : answerOf(inner, JSON.stringify(inner), words);
  };

/** How the work went by a flag or a status of the last object; earlier ones are about single steps. A status that is unknown may be
 *  about something else, unless the answer says nothing but it and why. */
function lastFlag(bare: string, words: OutcomeWords, tested: boolean): Verdict {
  const last = objectsIn(bare).at(-1);
  return (object, text) => {
    if (last === undefined || !('text' in last) || last.text !== text) return undefined;
    const statuses = statusKeys.filter((key) => typeof object[key] === 'string');
    const word = statuses
      .map((key) => agentWord(String(object[key]), words))
      .find((one) => one !== undefined);
    const flags = (words.gate ? ['success'] : flagKeys).filter((key) => typeof object[key] === 'boolean');
    const flag = flags.length === 0 ? undefined : flags.every((key) => object[key]) ? 'success' : 'fail';
    const outcome = word?.outcome ?? flag;
    if (outcome === undefined) {
      const [key] = statuses;
      const isAll = Object.keys(object).every((one) => statuses.includes(one) || whyKeys.includes(one));
      return tested && key !== undefined && isAll
        ? { problem: unknownOutcomeIn(object[key], words) }
        : undefined;
    }
    const several = [...statuses, ...flags].find((key) => timesOfKey(text, key) > 1);
    if (several !== undefined) return { problem: `has "${several}" more than once` };
    if (flag !== undefined && (outcome === 'success') !== (flag === 'success'))
      return { problem: `says two outcomes, ${outcome} and ${flag}` };
    const why = whyKeys.map((name) => object[name]).find((one) => typeof one === 'string') ?? '';
    return { answer: bareOutcome(outcome, why, word?.label) };
  };
}

const statusKeys: readonly string[] = ['status', 'verdict', 'result'];
const flagKeys: readonly string[] = ['success', ...wordsForSuccess];
const whyKeys: readonly string[] = ['failure_reason', 'reason', 'error', 'notes', 'message'];

/** An outcome with what was said besides: notes, or the reason of a failure. */
export const bareOutcome = (outcome: AgentOutcome, text: string, ownWord?: string): AgentAnswer => {
  const line = text.trim();
  const bad = isBad(outcome);
  return {
    ...{ outcome, label: ownWord ?? '', suggested: [], updates: {} },
    ...(ownWord === undefined ? {} : { ownWord: true }),
    ...{ notes: bad ? '' : line, reason: bad ? line : '' },
  };
};

const isBad = (outcome: AgentOutcome): boolean => outcome === 'fail' || outcome === 'retry';

/** An agent's word for an outcome, or one that an edge names, which is a label. No agent answers `skipped`. */
export function agentWord(word: string, words: OutcomeWords = noOwnWords): OutcomeWord | undefined {
  const outcome = answeredOutcome(word, words);
  return outcome === undefined || outcome.outcome === 'skipped'
    ? undefined
    : { ...outcome, outcome: outcome.outcome };
}

/** Why an object cannot be one answer: it has a key twice, or says another outcome in other fields. */
function ambiguity(object: JsonObject, text: string, { outcome, label }: OutcomeWord): string | undefined {
  const map = mapJson(text);
  const [twice] = 'duplicates' in map ? map.duplicates : [];
  if (twice !== undefined) return `has "${twice.key.slice(0, 80)}" more than once`;
  if (Object.hasOwn(object, prototypeKey)) return `has the key "${prototypeKey}"`;
  if (Object.keys(object).filter((key) => key.trim().toLowerCase() === 'outcome').length > 1)
    return 'has "outcome" more than once';
  if (label !== undefined) return undefined;
  const { status, success } = object;
  const other = typeof status === 'string' ? agentOutcomeOf(status) : undefined;
  if (other !== undefined && isBad(other) !== isBad(outcome))
    return twoOutcomes({ outcome }, { outcome: other });
  if (typeof success !== 'boolean' || success !== isBad(outcome)) return undefined;
  return twoOutcomes({ outcome }, { outcome: success ? 'success' : 'fail' });
}

/** The answer in an object. Fields other than `outcome` may be left out or null; unknown fields are ignored. */
function answerOf(
  object: JsonObject,
  text: string,
  words: OutcomeWords = noOwnWords,
): { readonly answer: AgentAnswer } | { readonly problem: string } {
  const field = (name: string): Json | undefined =>
    Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined;
  const key = outcomeKey(object) ?? 'outcome';
  const spoken = field(key);
  if (spoken === undefined || (typeof spoken === 'string' && spoken.trim() === ''))
    return { problem: 'missing outcome' };
  if (timesOfKey(text, key) > 1) return { problem: 'has "outcome" more than once' };
  const word = typeof spoken === 'string' ? agentWord(spoken, words) : undefined;
  if (word === undefined) return { problem: unknownOutcomeIn(spoken, words) };
  const { outcome } = word;
  const unclear = ambiguity(object, text, word);
  if (unclear !== undefined) return { problem: unclear };
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
  return {
    answer: {
      outcome,
      label: word.label ?? textOf('preferred_next_label'),
      ...(word.label === undefined ? {} : { ownWord: true }),
      suggested: suggested.filter((id) => id !== ''),
      notes,
      // A reason that is only in the notes is a reason as well.
      reason: isBad(outcome) && reason.trim() === '' ? notes : reason,
      updates,
      ...(plan === undefined ? {} : { verificationPlan: plan }),
    },
  };
}

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

const wrong = (name: string, value: Json, expected: string): string =>
  `has ${name} wrong: ${kindOf(value)} instead of ${expected}`;
