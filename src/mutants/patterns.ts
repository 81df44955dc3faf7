/** Mutants of regular expressions: quantifiers left out, negated classes without their negation, anchors left out. */
import { type ParsedSource, parseSource, type SyntaxNode } from '../platform/grammars.ts';
import type { MutantOperator, PatternText, TextChange } from './rules.ts';

type PatternRule = (node: SyntaxNode) => readonly Omit<TextChange, 'operator'>[];

const without: PatternRule = (node) => [{ start: node.start, end: node.end, replacement: '' }];

/** `[^a]` becomes `[a]`. */
const unnegated: PatternRule = ({ start, text }) =>
  text.startsWith('[^') ? [{ start: start + 1, end: start + 2, replacement: '' }] : [];

/** `\D` becomes `\d`. */
const unnegatedEscape: PatternRule = ({ end, text }) =>
  /^\\[DSW]$/.test(text) ? [{ start: end - 1, end, replacement: text.slice(1).toLowerCase() }] : [];

const rules: Readonly<Record<string, readonly [MutantOperator, PatternRule]>> = {
  one_or_more: ['regex quantifier', without],
  zero_or_more: ['regex quantifier', without],
  optional: ['regex quantifier', without],
  count_quantifier: ['regex quantifier', without],
  character_class: ['regex class', unnegated],
  character_class_escape: ['regex class', unnegatedEscape],
  start_assertion: ['regex anchor', without],
  end_assertion: ['regex anchor', without],
  boundary_assertion: ['regex anchor', without],
};

/** The changes of a pattern as changes of the text that contains it. */
export async function patternChanges(text: string, place: PatternText): Promise<readonly TextChange[]> {
  const written = text.slice(place.start, place.end);
  const { pattern, offsetOf } = place.escaped ? unescaped(written) : { pattern: written, offsetOf: same };
  if (pattern === undefined || place.accepts?.(pattern) === false) return [];
  const source = await parseSource('regex', pattern);
  try {
    if (source.errors() > 0) return [];
    return changesIn(source.root)
      .filter((change) => isPattern(change, source, pattern, place))
      .map((change) => ({
        ...change,
        start: place.start + offsetOf(change.start),
        end: place.start + offsetOf(change.end),
      }));
  } finally {
    source.close();
  }
}

const same = (offset: number): number => offset;

function changesIn(node: SyntaxNode): TextChange[] {
  const [operator, rule] = Object.hasOwn(rules, node.type) ? (rules[node.type] ?? []) : [];
  const own =
    operator === undefined || rule === undefined ? [] : rule(node).map((change) => ({ operator, ...change }));
  return [...own, ...node.children.flatMap(changesIn)];
}

function isPattern(change: TextChange, source: ParsedSource, pattern: string, place: PatternText): boolean {
  const mutated = `${pattern.slice(0, change.start)}${change.replacement}${pattern.slice(change.end)}`;
  return source.errors(change) === 0 && mutated !== '' && (place.accepts?.(mutated) ?? true);
}

/** A pattern as it reads in a string with doubled backslashes, and the place of each of its units there. A string with other
 *  escapes is left alone. */
function unescaped(written: string): {
  readonly pattern: string | undefined;
  offsetOf(offset: number): number;
} {
  const offsets: number[] = [];
  let pattern = '';
  for (let at = 0; at < written.length; at++) {
    offsets.push(at);
    if (written[at] === '\\') {
      at += 1;
      if (written[at] !== '\\') return { pattern: undefined, offsetOf: same };
    }
    pattern += written[at] ?? '';
  }
  offsets.push(written.length);
  return { pattern, offsetOf: (offset) => offsets[offset] ?? written.length };
}
