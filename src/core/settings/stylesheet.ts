/** The graph attribute `model_stylesheet`: rules that set attributes of nodes, as style sheets of the web do. Pure. */
import type { ParsedNode } from '../graph.ts';
import { nearest } from '../nearest.ts';
import { type Attribute, type Attributes, present } from './types.ts';

/** Characters of the sheet, from `at` on. */
type Place = { readonly at: number; readonly length: number };

export type StyleProblem = Place & {
  readonly message: string;
  readonly fix: string;
};

/** `name: value`; `key` is the attribute that it sets, undefined for an unknown name. */
export type StyleProperty = Place & {
  readonly name: string;
  readonly key: string | undefined;
  readonly value: string;
  readonly valuePlace: Place;
};

/** One selector with its properties; of a list of selectors each has a rule. */
export type StyleRule = Place & {
  readonly selector: string;
  readonly properties: readonly StyleProperty[];
};

export type Stylesheet = {
  readonly rules: readonly StyleRule[];
  readonly problems: readonly StyleProblem[];
};

/** What a rule may set, and the attributes that this is. */
const keys: ReadonlyMap<string, string> = new Map([
  ['llm_model', 'llm_model'],
  ['model', 'llm_model'],
  ['llm_provider', 'llm_provider'],
  ['provider', 'llm_provider'],
  ['reasoning_effort', 'reasoning_effort'],
  ['backend', 'agent.backend'],
  ['fidelity', 'fidelity'],
  ['max_cost_usd', 'max_cost_usd'],
]);
export const styleProperties: readonly string[] = [...keys.keys()];

const selectorForm = /^(?:\*|\.[A-Za-z0-9_-]+|#[A-Za-z_]\w*|[A-Za-z]\w*)$/;

/** Reads a sheet; what cannot be read is left out and reported. */
export function parseStylesheet(source: string): Stylesheet {
  const problems: StyleProblem[] = [];
  const text = withoutComments(source, problems);
  const rules: StyleRule[] = [];
  for (let at = 0; at < text.length; ) {
    const stop = /[{}]/.exec(text.slice(at));
    const end = stop === null ? text.length : at + stop.index;
    const head = trimmedPlace(text, at, end);
    if (stop === null) {
      if (head.length > 0)
        problems.push({
          ...head,
          message: `no { follows ${quoted(text, head)}`,
          fix: 'write SELECTOR { property: value; }',
        });
      break;
    }
    if (stop[0] === '}') {
      problems.push({ at: end, length: 1, message: 'this } closes nothing', fix: 'remove it' });
      at = end + 1;
      continue;
    }
    const closing = /[{}]/.exec(text.slice(end + 1));
    const isClosed = closing?.[0] === '}';
    const bodyEnd = closing === null ? text.length : end + 1 + closing.index;
    if (!isClosed)
      problems.push({ at: end, length: 1, message: 'this { is not closed', fix: 'close the rule with }' });
    const selectors = selectorsIn(text, at, end, problems);
    const properties = isClosed ? propertiesIn(text, end + 1, bodyEnd, problems) : [];
    for (const selector of selectors) rules.push({ ...selector, properties });
    // After a rule that is not closed, everything up to the end of the next one is uncertain.
    at = isClosed ? bodyEnd + 1 : text.length;
  }
  return { rules, problems };
}

/** The text with blanks in place of comments, so that places stay. */
function withoutComments(source: string, problems: StyleProblem[]): string {
  const blank = (comment: string): string => comment.replace(/[^\n]/g, ' ');
  return source
    .replace(/\/\*[\s\S]*?(?:\*\/|$)/g, (comment, at: number) => {
      if (!comment.endsWith('*/') || comment.length < 4)
        problems.push({ at, length: 2, message: 'this comment is not closed', fix: 'close it with */' });
      return blank(comment);
    })
    .replace(/(^|[\s;{}])\/\/[^\n]*/g, blank);
}

function trimmedPlace(text: string, from: number, to: number): Place {
  const part = text.slice(from, to);
  const at = from + part.length - part.trimStart().length;
  return { at, length: part.trim().length };
}

const textAt = (text: string, { at, length }: Place): string => text.slice(at, at + length);
const quoted = (text: string, place: Place): string => {
  const words = textAt(text, place);
  return `"${words.length > 40 ? `${words.slice(0, 40)}…` : words}"`;
};

/** The parts of a text between two places, by their separator. */
function* partsOf(text: string, from: number, to: number, separator: string): Generator<Place> {
  for (let at = from; at <= to; ) {
    const next = text.indexOf(separator, at);
    const end = next < 0 || next > to ? to : next;
    yield trimmedPlace(text, at, end);
    at = end + 1;
  }
}

function selectorsIn(text: string, from: number, to: number, problems: StyleProblem[]) {
  const found: (Place & { readonly selector: string })[] = [];
  const fix = 'write *, a shape such as box, .class or #node; several with commas between them';
  for (const place of partsOf(text, from, to, ',')) {
    const selector = textAt(text, place);
    if (selectorForm.test(selector)) found.push({ ...place, selector });
    else if (selector === '')
      problems.push({ at: to, length: 1, message: 'a selector is missing here', fix });
    else problems.push({ ...place, message: `${quoted(text, place)} is not a selector`, fix });
  }
  return found;
}

function propertiesIn(text: string, from: number, to: number, problems: StyleProblem[]) {
  const found: StyleProperty[] = [];
  for (const place of partsOf(text, from, to, ';')) {
    if (place.length === 0) continue;
    const read = propertyAt(text, place);
    if ('message' in read) problems.push(read);
    else found.push(read);
  }
  return found;
}

/** Another known property within the value of one: the semicolon between them is missing. */
const nextProperty = new RegExp(`\\s(${[...keys.keys()].join('|')})\\s*:`);

function propertyAt(text: string, place: Place): StyleProperty | StyleProblem {
  const written = textAt(text, place);
  const colon = written.indexOf(':');
  const name = written.slice(0, colon).trim();
  if (colon < 0 || !/^[\w.-]+$/.test(name)) {
    const [, left = '', right = ''] = /^([\w.-]+)\s*=\s*(.*)$/s.exec(written) ?? [];
    const meant = left === '' ? 'property: value;' : `${left}: ${right.trim()};`;
    return {
      ...place,
      message: `${quoted(text, place)} is not a property with its value`,
      fix: `write ${meant}`,
    };
  }
  const valuePlace = trimmedPlace(text, place.at + colon + 1, place.at + place.length);
  const value = textAt(text, valuePlace);
  const namePlace = { at: place.at, length: name.length };
  if (value === '') return { ...namePlace, message: `${name} has no value`, fix: `write ${name}: value;` };
  const next = nextProperty.exec(value);
  if (next !== null)
    return {
      ...{ at: valuePlace.at + next.index + 1, length: (next[1] ?? '').length },
      message: `a ; is missing before ${next[1]}`,
      fix: 'end each property with ;',
    };
  const inner = /^(["'])(.*)\1$/s.exec(value)?.[2] ?? value;
  return { ...namePlace, name, key: keys.get(name), value: inner.trim(), valuePlace };
}

/** The property that the author of an unknown one probably meant. */
export const meantProperty = (name: string): string | undefined => nearest(name, styleProperties);

/** A property that counts for a node, and its rule. */
export type Style = { readonly property: StyleProperty; readonly rule: StyleRule };

/** `*` before a shape before a class before an id; of equal ones the later rule wins. */
const ranks: Readonly<Record<string, number>> = { '*': 0, '.': 2, '#': 3 };
const rankOf = ({ selector }: StyleRule): number => ranks[selector.charAt(0)] ?? 1;

/** What a sheet sets of a node, by attribute. */
export function stylesOf({ rules }: Stylesheet, node: ParsedNode): ReadonlyMap<string, Style> {
  const found = new Map<string, Style>();
  const names = namesOf(node);
  for (const rule of rules) {
    if (!names.has(rule.selector)) continue;
    for (const property of rule.properties) {
      const before = found.get(property.key ?? '');
      if (property.key === undefined || (before !== undefined && rankOf(before.rule) > rankOf(rule)))
        continue;
      found.set(property.key, { property, rule });
    }
  }
  return found;
}

/** The selectors that a node answers to. */
function namesOf(node: ParsedNode): ReadonlySet<string> {
  const shape = present(node.attrs, 'shape')?.value.text.trim() ?? 'box';
  return new Set(['*', shape, ...classesOf(node).map((name) => `.${name}`), `#${node.id}`]);
}

/** The classes of a node: the labels of its subgraphs, then those of its attribute. */
export function classesOf({ classes, attrs }: Pick<ParsedNode, 'classes' | 'attrs'>): readonly string[] {
  const own = present(attrs, 'class')?.value.text.split(/[\s,]+/) ?? [];
  return [...classes, ...own.filter((name) => name !== '')];
}

/** The sheet of a graph, and the attribute that has it. */
export function stylesheetOf(
  attrs: Attributes,
): (Stylesheet & { readonly attribute: Attribute }) | undefined {
  const attribute = present(attrs, 'model_stylesheet');
  return attribute && { attribute, ...parseStylesheet(attribute.value.text) };
}
