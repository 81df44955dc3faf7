/** References in prompts and commands: `$goal`, `${goal}`, `${var.x}`, `${ctx.key}`, `${node.id.key}`; in a branch of `for_each`
 *  `${item}`, `${item.key}` and `${index}`; in the words of other implementations `{{ goal }}` and `{{ inputs.x }}`, in prompts also
 *  `$context.key` and `$x`. */
import { singleQuoted } from './policy/words.ts';

export type ReferenceKind = 'goal' | 'var' | 'ctx' | 'node' | 'item' | 'index';
export type Reference = {
  readonly kind: ReferenceKind;
  /** What follows the kind: `x`, `a.key`, `node.key`; empty for the goal, the index and the whole item. */
  readonly key: string;
  /** As written. */
  readonly written: string;
  readonly at: number;
  readonly length: number;
};

/** The keys of `${node.id.key}` for a node that has run. */
export const nodeKeys = [
  'outcome',
  'label',
  'preferred_label',
  'notes',
  'failure_reason',
  'failure_class',
  'visits',
] as const;

export type ReferenceScope = {
  readonly goal: string | undefined;
  /** The value of a variable, a context key or a node's `id.key`; undefined if there is none. */
  lookup(kind: 'var' | 'ctx' | 'node', key: string): string | undefined;
  /** In a branch of `for_each`; elsewhere `${item}` and `${index}` are no references. */
  readonly item?: ItemScope | undefined;
};

/** The item of a branch; `value`: it as a text, or one of its keys. */
export type ItemScope = {
  readonly index: number;
  value(key: string): string | undefined;
};

/** In a prompt words after `$` are read too. */
export type ReferenceMode = 'plain' | 'shell' | 'prompt';

// Any other ${…} and {{…}} belongs to the shell or is plain text of a prompt; ${{…}} is another program's.
const strict =
  /\$\$\{|\$\{goal\}|\$\{(?:(var|ctx|node|item)\.([^\s{}]*)|(item|index))\}|(?<!\$)\{\{\s*(?:goal|inputs\.([A-Za-z_][\w-]*))\s*\}\}/;
const form = new RegExp(`${strict.source}|\\$goal(?![A-Za-z0-9_])`, 'g');
const formInPrompts = new RegExp(`${strict.source}|(\\$?\\$)([A-Za-z_][\\w-]*(?:\\.\\w+)*)`, 'g');

/** The value quoted for its position. In backquotes the shell removes one level of backslashes before it reads quotes. A
 *  comment must not gain a line break. A here-document has no quotes: characters that the shell would expand are escaped,
 *  and a line that would end it gets a trailing blank. */
function shellWordAt(value: string, where: Where | undefined): string {
  if (where === 'comment') return singleQuoted(value.replace(/[\r\n]+/g, ' '));
  const word = singleQuoted(value);
  if (typeof where !== 'object') return where === 'backquoted' ? escaped(word) : word;
  const lines = word.split('\n').map((line) => (isEnd(line, where) ? `${line} ` : line));
  const text = where.expands ? escaped(lines.join('\n')) : lines.join('\n');
  return where.backquoted ? escaped(text) : text;
}

const escaped = (text: string): string => text.replace(/[\\`$]/g, '\\$&');

const referenceAt = (match: RegExpExecArray): Reference | undefined => {
  const [written, dotted, key = '', bare, input] = match;
  if (written === '$${') return undefined;
  const of = { written, at: match.index, length: written.length };
  if (input !== undefined) return { kind: 'var', key: input, ...of };
  return { kind: kinds.find((kind) => kind === (dotted ?? bare)) ?? 'goal', key, ...of };
};

const kinds: readonly ReferenceKind[] = ['var', 'ctx', 'node', 'item', 'index'];

/** Whether a reference has a value only in a branch of `for_each`. */
const asksItem = ({ kind }: Pick<Reference, 'kind'>): boolean => kind === 'item' || kind === 'index';

/** Every reference of a text, in order. `$${` makes none. `inItem`: in a branch of `for_each`. */
export const references = (text: string, inItem = false): readonly Reference[] =>
  [...text.matchAll(form)]
    .flatMap((match) => referenceAt(match) ?? [])
    .filter((reference) => inItem || !asksItem(reference));

/** The context keys that a prompt or a command may read. Of `$context.a.b.` in a sentence it may be `a.b` or `a`. */
export function contextKeysIn(text: string): readonly string[] {
  const loose = [...text.matchAll(/\$context\.(\w+(?:\.\w+)*)/g)].flatMap(([, key = '']) =>
    beginnings(key, '.'),
  );
  return [...references(text).flatMap(({ kind, key }) => (kind === 'ctx' ? [key] : [])), ...loose];
}

/** The names under which `{{ inputs.x }}` asks for a variable. */
export const inputsIn = (text: string): readonly string[] =>
  references(text).flatMap(({ kind, key, written }) =>
    kind === 'var' && written.startsWith('{{') ? [key] : [],
  );

/** `a.b.c`, `a.b`, `a`. */
const beginnings = (name: string, separator: string): readonly string[] =>
  name.split(separator).map((_, at, parts) => parts.slice(0, parts.length - at).join(separator));

/** Whether a reference is left as written where the graph has no goal. */
export const mayLackGoal = ({ kind, written }: Reference): boolean =>
  kind === 'goal' && written !== '${goal}';

/** The value of a word after `$`, and the part of the word that names it; undefined for a word that is only text. */
function wordAfterDollar(
  word: string,
  { goal, lookup }: ReferenceScope,
): { readonly value: string; readonly named: string } | undefined {
  const [first = ''] = word.split('.', 1);
  if (first === 'context') {
    for (const key of beginnings(word.slice('context.'.length), '.')) {
      const value = lookup('ctx', key) ?? lookup('var', key);
      if (value !== undefined) return { value, named: `context.${key}` };
    }
  }
  for (const named of beginnings(first, '-')) {
    const value = named === 'goal' ? goal : lookup('var', named);
    if (value !== undefined) return { value, named };
  }
  return undefined;
}

/** Replaces references by values, once: values are never expanded again. `$${` becomes `${`; `$goal` stays if there is no
 *  goal. In `shell` mode each value becomes one quoted word. In a `prompt` `$$x` is `$x` literally, and a word after `$` that has no
 *  value is text. For a missing value of another reference the result is `unknown` with its name (`var.x`). */
export function expand(
  text: string,
  scope: ReferenceScope,
  mode: ReferenceMode,
): { readonly text: string } | { readonly unknown: string } {
  let out = '';
  let from = 0;
  const inItem = scope.item !== undefined;
  const where = new Map(mode === 'shell' ? placed(text, inItem).map(([{ at }, of]) => [at, of]) : []);
  for (const match of text.matchAll(mode === 'prompt' ? formInPrompts : form)) {
    out += text.slice(from, match.index);
    from = match.index + match[0].length;
    const [, , , , , dollars, word] = match;
    if (dollars !== undefined && word !== undefined) {
      const found = wordAfterDollar(word, scope);
      if (found === undefined) out += match[0];
      else out += dollars === '$$' ? `$${word}` : `${found.value}${word.slice(found.named.length)}`;
      continue;
    }
    const reference = referenceAt(match);
    if (reference === undefined) {
      out += '${';
      continue;
    }
    const { kind, key, written } = reference;
    const value = valueAsked(reference, scope);
    if (value !== undefined) out += mode === 'shell' ? shellWordAt(value, where.get(match.index)) : value;
    else if (mayLackGoal(reference) || (asksItem(reference) && !inItem)) out += written;
    else return { unknown: kind === 'goal' ? 'goal' : `${kind}.${key}` };
  }
  return { text: out + text.slice(from) };
}

function valueAsked({ kind, key }: Reference, { goal, lookup, item }: ReferenceScope): string | undefined {
  if (kind === 'goal') return goal;
  if (kind === 'item') return item?.value(key);
  if (kind === 'index') return item === undefined ? undefined : String(item.index);
  return lookup(kind, key);
}

/** A here-document: the line that ends it, whether tabs may precede that line, whether the shell expands its text, and
 *  whether it is inside backquotes. */
type Document = {
  readonly end: string;
  readonly tabs: boolean;
  readonly expands: boolean;
  readonly backquoted: boolean;
};

/** The position of a reference in a shell command. `escaped`: after a backslash. */
type Where = 'plain' | 'quoted' | 'escaped' | 'backquoted' | 'comment' | Document;

/** The references of a shell command inside quotes or after a backslash, where a quoted word would break. Text within
 *  `$(…)` or backquotes is a separate command, also inside double quotes; the text of a here-document is not. */
export const quotedReferences = (command: string, inItem = false): readonly Reference[] =>
  placed(command, inItem).flatMap(([reference, where]) =>
    where === 'quoted' || where === 'escaped' ? [reference] : [],
  );

const opensDocument = /<<(-?)[ \t]*((?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s;&|()<>'"`\\])+)/y;

function documentAt(command: string, at: number, backquoted: boolean): Document | undefined {
  opensDocument.lastIndex = at;
  const opened = opensDocument.exec(command);
  if (opened === null) return undefined;
  const [, dash, name = ''] = opened;
  const end = name.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, '$1$2$3');
  return { end, tabs: dash === '-', expands: end === name, backquoted };
}

const isEnd = (line: string, { end, tabs }: Document): boolean =>
  (tabs ? line.replace(/^\t+/, '') : line) === end;

/** The offset of the end of the line that ends a here-document; undefined if there is no such line and so no
 *  here-document: `$((a << b))`. `endless` caches ends that were not found. */
function endOfDocument(command: string, from: number, opened: Document, endless: Set<string>) {
  const name = `${opened.tabs} ${opened.end}`;
  if (endless.has(name)) return undefined;
  for (let at = from; at < command.length; ) {
    const newline = command.indexOf('\n', at);
    const end = newline === -1 ? command.length : newline;
    if (isEnd(command.slice(at, end), opened)) return end;
    at = end + 1;
  }
  endless.add(name);
  return undefined;
}

/** The end of the comment at `at`: that of its line, or of the surrounding backquotes. */
function endOfComment(command: string, at: number, backquoted: boolean): number {
  const rest = command.slice(at).search(backquoted ? /[\n`]/ : /\n/);
  return rest === -1 ? command.length : at + rest;
}

/** Every reference of a shell command, in order, with its position. */
function placed(command: string, inItem: boolean): readonly (readonly [Reference, Where])[] {
  const found = references(command, inItem);
  const all: [Reference, Where][] = [];
  const around: string[] = [];
  let documents: Document[] = [];
  const endless = new Set<string>();
  let next = 0;
  let at = 0;
  /** The previous character as the shell reads it: a continued line leaves no line break. */
  let before = '\n';
  let read = '\n';
  const isBackquoted = () => around.includes('`');
  /** Skips up to `to` and records the references on the way. */
  const skip = (to: number, where: Where) => {
    for (let one = found[next]; one !== undefined && one.at < to; one = found[++next]) all.push([one, where]);
    at = Math.max(at, to - 1);
  };
  for (; at < command.length; at++) {
    const inside = around.at(-1);
    before = read;
    read = command[at] ?? '';
    const reference = found[next];
    if (reference !== undefined && reference.at === at) {
      const isQuoted = inside === "'" || inside === '"';
      skip(at + reference.length, isQuoted ? 'quoted' : isBackquoted() ? 'backquoted' : 'plain');
      continue;
    }
    const c = command[at];
    if (inside === "'") {
      if (c === "'") around.pop();
    } else if (c === '\\') {
      at++;
      read = command[at] === '\n' ? before : c;
      if (found[next]?.at === at) skip(at + (found[next]?.length ?? 1), 'escaped');
    } else if (c === '"') {
      if (inside === '"') around.pop();
      else around.push('"');
    } else if (c === '`') {
      if (inside === '`') around.pop();
      else around.push('`');
    } else if (c === '$' && command[at + 1] === '(') {
      around.push(')');
      at++;
      read = '(';
    } else if (inside !== '"') {
      if (c === "'") around.push("'");
      else if (c === '$' && command[at + 1] === '{') around.push('}');
      else if (inside === '}') {
        if (c === '}') around.pop();
      } else if (c === '(') around.push(')');
      else if (c === ')' && inside === ')') around.pop();
      else if (c === '#' && (/[\s;&|(]/.test(before) || (before === '`' && inside === '`'))) {
        skip(endOfComment(command, at, isBackquoted()), 'comment');
      } else if (c === '<' && command[at + 1] === '<') {
        const opened = documentAt(command, at, isBackquoted());
        if (opened !== undefined) documents.push(opened);
        at += command[at + 2] === '<' ? 2 : 1;
      } else if (c === '\n') {
        for (const opened of documents) {
          const end = endOfDocument(command, at + 1, opened, endless);
          if (end !== undefined) skip(end, opened);
        }
        documents = [];
      }
    }
  }
  return all;
}
