/** A structured answer of a model as what it is: proposed files, a plan, an outcome. */

export type AnswerParts =
  | { readonly kind: 'proposal'; readonly summary: string; readonly writes: readonly ProposedFile[] }
  | { readonly kind: 'plan'; readonly overview: readonly string[]; readonly orders: readonly PlannedOrder[] }
  | {
      readonly kind: 'outcome';
      readonly outcome: string;
      /** What the answer says before the object. */
      readonly text: string;
      readonly facts: readonly AnswerFact[];
    };

export interface ProposedFile {
  readonly path: string;
  readonly content: string;
}
export interface PlannedOrder {
  readonly id: string;
  readonly title: string;
  readonly intent: string;
  readonly files: readonly string[];
  readonly commands: readonly string[];
}
/** A text, or a list or object as JSON. */
export interface AnswerFact {
  readonly name: string;
  readonly text: string;
  readonly isJson: boolean;
}

/** The parts of an answer; undefined for any other text, which is shown unchanged. */
export function answerParts(answer: string): AnswerParts | undefined {
  const { text, value } = objectAtEnd(answer.trim());
  if (value === undefined) return undefined;
  const whole = text === '';
  return (whole ? (proposalOf(value) ?? planOf(value)) : undefined) ?? outcomeOf(value, text);
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const at = (value: Fields, key: string): unknown => (Object.hasOwn(value, key) ? value[key] : undefined);
const textAt = (value: Fields, key: string): string => {
  const text = at(value, key);
  return isText(text) ? text : '';
};
const textsAt = (value: Fields, key: string): readonly string[] => {
  const texts = at(value, key);
  return Array.isArray(texts) ? texts.filter(isText) : isText(texts) ? [texts] : [];
};

/** The object that the answer is or ends with, in a code fence or not, and the text before it. */
function objectAtEnd(answer: string): { readonly text: string; readonly value?: Fields } {
  const fence = /(?:^|\n)```\w*[ \t]*\n((?:(?!\n```)[\s\S])*)\n```$/.exec(answer);
  if (fence !== null) {
    const value = objectIn(fence[1] ?? '');
    if (value !== undefined) return { text: answer.slice(0, fence.index).trim(), value };
  }
  for (const start of /^\{/.test(answer) ? [0] : lineStarts(answer)) {
    const value = objectIn(answer.slice(start));
    if (value !== undefined) return { text: answer.slice(0, start).trim(), value };
  }
  return { text: answer };
}

/** Where lines begin with a brace: the last few of them. */
const lineStarts = (text: string): readonly number[] =>
  [...text.matchAll(/\n\{/g)].slice(-3).map(({ index }) => index + 1);

function objectIn(text: string): Fields | undefined {
  if (!/^\s*\{[\s\S]*\}\s*$/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function proposalOf(value: Fields): AnswerParts | undefined {
  const writes = at(value, 'writes');
  if (!Array.isArray(writes) || writes.length === 0) return undefined;
  const files: ProposedFile[] = [];
  for (const one of writes) {
    if (!isFields(one) || !isText(at(one, 'path')) || !isText(at(one, 'content'))) return undefined;
    files.push({ path: textAt(one, 'path'), content: textAt(one, 'content') });
  }
  return { kind: 'proposal', summary: textAt(value, 'summary'), writes: files };
}

function planOf(value: Fields): AnswerParts | undefined {
  const orders = at(value, 'work_orders');
  if (!Array.isArray(orders) || orders.length === 0 || !orders.every(isFields)) return undefined;
  return {
    kind: 'plan',
    overview: textsAt(value, 'system_overview'),
    orders: orders.map((one) => ({
      ...{ id: textAt(one, 'id'), title: textAt(one, 'title'), intent: textAt(one, 'intent') },
      files: textsAt(one, 'allowed_files'),
      commands: textsAt(one, 'acceptance_commands'),
    })),
  };
}

function outcomeOf(value: Fields, text: string): AnswerParts | undefined {
  const key = Object.keys(value).find((name) => name.toLowerCase() === 'outcome');
  const outcome = key === undefined ? '' : textAt(value, key);
  if (outcome === '') return undefined;
  const facts = Object.entries(value)
    .filter(([name, one]) => name !== key && one !== '' && one !== null)
    .map(([name, one]) => ({
      name,
      text: isText(one) ? one : JSON.stringify(one, null, 2),
      isJson: !isText(one),
    }));
  return { kind: 'outcome', outcome, text, facts };
}
