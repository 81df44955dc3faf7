/** What a person writes at an offset of a pipeline's text: read from the text before it only, so that a text with mistakes, or one
 *  that ends there, has it too. */
import { synonyms } from '../dot/build.ts';
import { isLiteral, lex, type Token } from '../dot/lex.ts';
import { literalText } from '../dot/literals.ts';

/** The element whose attributes are in the list. */
export type CursorOwner =
  | { readonly kind: 'graph' | 'nodes' | 'edges' }
  | { readonly kind: 'node'; readonly id: string }
  | { readonly kind: 'edge'; readonly from: string };

export type TextCursor = {
  /** The part of the word that is written already, and where it begins. */
  readonly word: string;
  readonly start: number;
} & (
  | { readonly at: 'statement' }
  | { readonly at: 'target' }
  | { readonly at: 'key'; readonly owner: CursorOwner }
  | { readonly at: 'value'; readonly owner: CursorOwner; readonly key: string; readonly isQuoted: boolean }
);

type State = {
  owner: CursorOwner | undefined;
  ids: readonly string[];
  isEdge: boolean;
  isAfterArrow: boolean;
  key: string | undefined;
  isValue: boolean;
};

const fresh: State = {
  owner: undefined,
  ids: [],
  isEdge: false,
  isAfterArrow: false,
  key: undefined,
  isValue: false,
};

const canonical = (key: string): string => (Object.hasOwn(synonyms, key) ? (synonyms[key] ?? key) : key);

/** Undefined in a comment, and before the graph. */
export function cursorAt(text: string, offset: number): TextCursor | undefined {
  const before = text.slice(0, offset);
  const { tokens: all, comments, bad, unclosed } = lex(before);
  const open = bad.at(-1);
  if (unclosed && open?.code !== 'unclosed-string') return undefined;
  const last = comments.at(-1);
  if (last?.end === offset && !before.startsWith('/*', last.start)) return undefined;
  const tokens = all.slice(0, -1);
  const typed = tokens.at(-1);
  const isTyping = !unclosed && typed?.kind === 'word' && typed.end === offset;
  if (isTyping) tokens.pop();
  const body = tokens.findIndex(({ kind }) => kind === '{');
  if (body === -1) return undefined;
  const state = { ...fresh };
  for (const token of tokens.slice(body + 1)) take(state, token, before);
  const start = unclosed ? (open?.start ?? offset) + 1 : isTyping ? typed.start : offset;
  return cursorOf(state, { word: before.slice(start), start }, unclosed);
}

function cursorOf(
  state: State,
  at: Pick<TextCursor, 'word' | 'start'>,
  isQuoted: boolean,
): TextCursor | undefined {
  const { owner, key, isValue, isAfterArrow } = state;
  if (isValue && key !== undefined)
    return { at: 'value', owner: owner ?? { kind: 'graph' }, key: canonical(key), isQuoted, ...at };
  if (owner !== undefined) return { at: 'key', owner, ...at };
  return isAfterArrow ? { at: 'target', ...at } : { at: 'statement', ...at };
}

function take(state: State, token: Token, text: string): void {
  const word = isLiteral(token) ? literalText(text, token) : '';
  if (token.kind === '=') state.isValue = true;
  else if (isLiteral(token) && state.isValue) Object.assign(state, { isValue: false, key: undefined });
  else if (state.owner !== undefined) {
    if (token.kind === ']') Object.assign(state, fresh);
    else if (isLiteral(token)) state.key = word;
    else Object.assign(state, { key: undefined, isValue: false });
  } else if (token.kind === '[') state.owner = ownerOf(state);
  else if (token.kind === '->') Object.assign(state, { isEdge: true, isAfterArrow: true });
  else if (isLiteral(token) && state.isAfterArrow)
    Object.assign(state, { ids: [...state.ids, word], isAfterArrow: false });
  else if (isLiteral(token)) Object.assign(state, { ...fresh, ids: [word], key: word });
  else if (!(token.kind === '{' && state.isAfterArrow)) Object.assign(state, fresh);
}

function ownerOf({ ids, isEdge }: State): CursorOwner {
  const [first = ''] = ids;
  if (isEdge) return { kind: 'edge', from: ids.at(-2) ?? first };
  if (first === 'node') return { kind: 'nodes' };
  if (first === 'edge') return { kind: 'edges' };
  return first === 'graph' ? { kind: 'graph' } : { kind: 'node', id: first };
}
