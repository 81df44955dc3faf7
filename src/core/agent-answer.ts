/** What an agent program answered: a JSON object that says how the work went. */
import { bareAnswer, extractJson, isObject, objectsIn, timesOfKey } from './answer-json.ts';
import type { AgentReport, AgentTask } from './contracts/agent.ts';
import type { Json, JsonObject } from './json.ts';
import { type AgentOutcome, agentOutcomeOf, agentOutcomes, answeredOutcome } from './outcome.ts';

type Finished = Extract<AgentReport, { kind: 'finished' }>;
export type AgentAnswer = Omit<Finished, 'kind' | 'response' | 'usage' | 'reasoning' | 'artifacts'>;

/** Whether a word of the pipeline's own counts as an outcome; for a verdict it does not. */
export type OutcomeWords = 'own' | 'ours';

/** A goal gate is asked for a verdict. */
export const wordsFor = ({ settings }: Pick<AgentTask, 'settings'>): OutcomeWords =>
  settings.goal_gate === true ? 'ours' : 'own';

/** Reads an answer that was asked for: a JSON object, in a code fence or after prose too. `problem` begins with `is not valid
 *  JSON`, `missing outcome`, or names the field that is wrong. */
export function parseAnswer(
  text: string,
  words: OutcomeWords = 'own',
): { readonly answer: AgentAnswer } | { readonly problem: string } {
  const bare = bareAnswer(text);
  const read = extractJson(bare);
  if ('problem' in read) {
    const spoken = withLines(objectsSay(bare, outcomeOnly(words)), bare);
    return 'none' in spoken ? { problem: `is not valid JSON: ${read.problem}` } : spoken;
  }
  const said = read.value;
  if (!isObject(said)) return { problem: `is ${kindOf(said)} instead of a JSON object` };
  return answerOf(said, bare.slice(bare.indexOf('{')), words);
}

type Verdict = (
  said: JsonObject,
  text: string,
) => { readonly answer: AgentAnswer } | { readonly problem: string } | undefined;
type Spoken = { readonly answer: AgentAnswer } | { readonly problem: string } | { readonly none: true };

/** What an answer says of how the work went, where nothing asked for a form: `none` where it does not try to. An answer that
 *  tries to say it and cannot be read, or that says two things, has a problem: it must not be taken for a success. */
export function spokenIn(text: string, words: OutcomeWords = 'own'): Spoken {
  const bare = bareAnswer(text);
  const outcomes = objectsSay(bare, anyOutcome(words));
  const inObjects = 'none' in outcomes ? objectsSay(bare, lastFlag(bare)) : outcomes;
  const [first = agentOutcomeOf(bare)] = linesSay(bare);
  if (!('none' in inObjects) || first === undefined) return withLines(inObjects, bare);
  return withLines({ answer: bareOutcome(first, bare.trim().split('\n').slice(1).join('\n')) }, bare);
}

/** What the objects of an answer say, unless a line says something else. */
function withLines(spoken: Spoken, bare: string): Spoken {
  if (!('answer' in spoken)) return spoken;
  const { outcome } = spoken.answer;
  const other = linesSay(bare).find((one) => one !== outcome);
  return other === undefined ? spoken : { problem: `says two outcomes, ${outcome} and ${other}` };
}

/** Outcomes in its first and its last line; those between may be about single steps. */
function linesSay(bare: string): readonly AgentOutcome[] {
  const lines = bare.trim().split('\n');
  return [lines[0] ?? '', lines.at(-1) ?? ''].flatMap((line) => statusLine(line) ?? []);
}

/** The outcome of an answer that is written to a file or has another schema: only an object that has one at its top, or begins
 *  with one and cannot be read, is an answer about the work. */
export function documentVerdict(
  text: string,
  words: OutcomeWords = 'own',
): { readonly answer: AgentAnswer } | { readonly problem: string } | undefined {
  const bare = bareAnswer(text).trim();
  const [first] = bare.startsWith('{') ? objectsIn(bare) : [];
  if (first === undefined) return undefined;
  if ('broken' in first)
    return /^\{\s*["']?outcome\b/.test(first.broken) ? { problem: cannotRead(first.broken) } : undefined;
  const isWhole = first.text.length === bare.length;
  return isWhole && Object.hasOwn(first.object, 'outcome')
    ? answerOf(first.object, first.text, words)
    : undefined;
}

/** What the objects say together; of several that agree the last one has the most to say. */
function objectsSay(bare: string, verdict: Verdict): Spoken {
  const said: AgentAnswer[] = [];
  for (const found of objectsIn(bare)) {
    if ('broken' in found) {
      if (/[{,\n]\s*["']?outcome["']?\s*:/.test(found.broken)) return { problem: cannotRead(found.broken) };
      continue;
    }
    const read = verdict(found.object, found.text);
    if (read === undefined) continue;
    if ('problem' in read) return read;
    said.push(read.answer);
  }
  const last = said.at(-1);
  if (last === undefined) return { none: true };
  const other = said.find(({ outcome, label }) => outcome !== last.outcome || label !== last.label);
  if (other === undefined) return { answer: last };
  const named = ({ outcome, label }: AgentAnswer) => (label === '' ? outcome : `${outcome} (${label})`);
  return { problem: `says two outcomes, ${named(other)} and ${named(last)}` };
}

/** Only an outcome under its own name. */
const outcomeOnly =
  (words: OutcomeWords): Verdict =>
  (said, text) =>
    Object.hasOwn(said, 'outcome') ? answerOf(said, text, words) : undefined;

const cannotRead = (text: string): string => {
  const read = extractJson(text);
  return `is not valid JSON: ${'problem' in read ? read.problem : 'the object with its outcome cannot be read'}`;
};

/** An object's own outcome, or that of an object it has. */
const anyOutcome =
  (words: OutcomeWords): Verdict =>
  (said, text) => {
    if (Object.hasOwn(said, 'outcome')) return answerOf(said, text, words);
    const inner = Object.values(said).find(
      (value): value is JsonObject => isObject(value) && typeof value['outcome'] === 'string',
    );
    if (inner === undefined) return undefined;
    return timesOfKey(text, 'outcome', 2) > 1
      ? { problem: 'says several outcomes' }
      : answerOf(inner, JSON.stringify(inner), words);
  };

/** How the work went by the `success` or `status` of the last object; earlier ones are about single steps. */
function lastFlag(bare: string): Verdict {
  const last = objectsIn(bare).at(-1);
  return (said, text) => {
    if (last === undefined || !('text' in last) || last.text !== text) return undefined;
    const { success, status } = said;
    const word = typeof status === 'string' ? agentOutcomeOf(status) : undefined;
    const flag = typeof success === 'boolean' ? (success ? 'success' : 'fail') : undefined;
    const outcome = word ?? flag;
    if (outcome === undefined) return undefined;
    const several = ['success', 'status'].find((key) => timesOfKey(text, key) > 1);
    if (several !== undefined) return { problem: `has "${several}" more than once` };
    if (flag !== undefined && (outcome === 'success') !== (flag === 'success'))
      return { problem: `says two outcomes, ${outcome} and ${flag}` };
    const why = ['failure_reason', 'reason', 'error', 'notes', 'message'].map((name) => said[name]);
    return { answer: bareOutcome(outcome, why.find((one) => typeof one === 'string') ?? '') };
  };
}

/** The outcome in a line such as `STATUS: fail` or `**Outcome:** success`. */
const statusLine = (line: string): AgentOutcome | undefined =>
  agentOutcomeOf(
    /^[\s*#_`>-]*(?:outcome|status)[\s*_`]*[:=][\s*_`]*([a-z_]+)[\s*_`.!]*$/i.exec(line)?.[1] ?? '',
  );

/** An outcome with what was said besides: notes, or the reason of a failure. */
export const bareOutcome = (outcome: AgentOutcome, text: string, label = ''): AgentAnswer => {
  const said = text.trim();
  const bad = outcome === 'fail' || outcome === 'retry';
  return {
    ...{ outcome, label, suggested: [], updates: {} },
    ...{ notes: bad ? '' : said, reason: bad ? said : '' },
  };
};

/** An agent's word for an outcome, or one of the pipeline's own, which is a label. No agent answers `skipped`. */
export function agentWord(
  word: string,
  words: OutcomeWords = 'own',
): { readonly outcome: AgentOutcome; readonly label?: string } | undefined {
  const said = answeredOutcome(word);
  if (said === undefined || said.outcome === 'skipped') return undefined;
  return words === 'ours' && said.label !== undefined ? undefined : { ...said, outcome: said.outcome };
}

/** The answer in an object. Fields other than `outcome` may be left out or null; unknown fields are ignored. */
function answerOf(
  said: JsonObject,
  text: string,
  words: OutcomeWords = 'own',
): { readonly answer: AgentAnswer } | { readonly problem: string } {
  const field = (name: string): Json | undefined =>
    Object.hasOwn(said, name) ? (said[name] ?? undefined) : undefined;
  const spoken = field('outcome');
  if (spoken === undefined || (typeof spoken === 'string' && spoken.trim() === ''))
    return { problem: 'missing outcome' };
  if (timesOfKey(text, 'outcome') > 1) return { problem: 'has "outcome" more than once' };
  const word = typeof spoken === 'string' ? agentWord(spoken, words) : undefined;
  if (word === undefined) {
    const known = agentOutcomes.join(', ');
    return { problem: `has the outcome ${JSON.stringify(spoken).slice(0, 80)}, which is none of ${known}` };
  }
  const { outcome } = word;
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
      label: word.label ?? textOf('preferred_next_label'),
      suggested: suggested.filter((id) => id !== ''),
      notes,
      // A reason that is only in the notes is a reason as well.
      reason: bad && reason.trim() === '' ? notes : reason,
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

const wrong = (name: string, value: Json, wanted: string): string =>
  `has ${name} wrong: ${kindOf(value)} instead of ${wanted}`;
