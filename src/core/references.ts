/** References in prompts and commands: `$goal`, `${goal}`, `${var.x}`, `${ctx.key}`, `${node.id.key}`. */
import { singleQuoted } from './policy/words.ts';

export type ReferenceKind = 'goal' | 'var' | 'ctx' | 'node';
export type Reference = {
  readonly kind: ReferenceKind;
  /** What follows the kind: `x`, `a.key`, `node.key`; empty for the goal. */
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
};

// Any other ${…} belongs to the shell or is plain text of a prompt.
const form = /\$\$\{|\$\{goal\}|\$\{(var|ctx|node)\.([^\s{}]*)\}|\$goal(?![A-Za-z0-9_])/g;

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
  const [written, kind, key = ''] = match;
  if (written === '$${') return undefined;
  const what = kind === 'var' || kind === 'ctx' || kind === 'node' ? kind : 'goal';
  return { kind: what, key, written, at: match.index, length: written.length };
};

/** Every reference of a text, in order. `$${` makes none. */
export const references = (text: string): readonly Reference[] =>
  [...text.matchAll(form)].flatMap((match) => referenceAt(match) ?? []);

/** Replaces references by values, once: values are never expanded again. `$${` becomes `${`; `$goal` stays if there is no
 *  goal. In `shell` mode each value becomes one quoted word. For a missing value the result is `unknown` with the name of
 *  the reference (`var.x`). */
export function expand(
  text: string,
  scope: ReferenceScope,
  mode: 'plain' | 'shell',
): { readonly text: string } | { readonly unknown: string } {
  let out = '';
  let from = 0;
  const where = new Map(mode === 'shell' ? placed(text).map(([{ at }, of]) => [at, of]) : []);
  for (const match of text.matchAll(form)) {
    out += text.slice(from, match.index);
    from = match.index + match[0].length;
    const reference = referenceAt(match);
    if (reference === undefined) {
      out += '${';
      continue;
    }
    const { kind, key, written } = reference;
    const value = kind === 'goal' ? scope.goal : scope.lookup(kind, key);
    if (value !== undefined) out += mode === 'shell' ? shellWordAt(value, where.get(match.index)) : value;
    else if (written === '$goal') out += written;
    else return { unknown: written.slice(2, -1) };
  }
  return { text: out + text.slice(from) };
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
export const quotedReferences = (command: string): readonly Reference[] =>
  placed(command).flatMap(([reference, where]) =>
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
function placed(command: string): readonly (readonly [Reference, Where])[] {
  const found = references(command);
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

/** The graph attribute `vars="spec=@../x.md, attempts=5, repo"`: parameters of a pipeline with their defaults. */
export type Variable = {
  readonly name: string;
  /** The default; for a file variable a path relative to the pipeline file, without `@`. Undefined for a variable that every
   *  run must set. */
  readonly value: string | undefined;
  /** True if the default begins with `@`: the variable's text is read from a file. */
  readonly file: boolean;
  /** Offset of the entry in the attribute's value. */
  readonly at: number;
  readonly length: number;
};
export type VariableProblem = {
  readonly message: string;
  readonly at: number;
  readonly length: number;
  /** The variable, if the entry names one. */
  readonly name?: string;
};

const nameForm = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** Entries between commas; a comma inside single or double quotes around a value is part of the value. */
function entries(text: string): { text: string; at: number }[] {
  const found: { text: string; at: number }[] = [];
  const entry = /(?:\s*(?:[^\s,=]+\s*)?=\s*(?:"[^"]*"|'[^']*')\s*(?=,|$))|[^,]*/y;
  for (let at = 0; at <= text.length; ) {
    entry.lastIndex = at;
    const raw = entry.exec(text)?.[0] ?? '';
    found.push({ text: raw.trim(), at: at + (raw.length - raw.trimStart().length) });
    at += raw.length + 1;
  }
  return found;
}

/** The variables in order, and every invalid entry. A blank text declares none. */
export function parseVars(text: string): {
  readonly vars: readonly Variable[];
  readonly problems: readonly VariableProblem[];
} {
  const vars: Variable[] = [];
  const problems: VariableProblem[] = [];
  if (text.trim() === '') return { vars, problems };
  const names = new Set<string>();
  for (const { text: entry, at } of entries(text)) {
    const length = Math.max(entry.length, 1);
    const report = (message: string, name?: string) => {
      const meant = name === undefined || !nameForm.test(name) ? {} : { name };
      problems.push({ message, at: Math.min(at, text.length - 1), length, ...meant });
    };
    if (entry === '') {
      report('an entry of vars is empty');
      continue;
    }
    const equals = entry.indexOf('=');
    const name = (equals === -1 ? entry : entry.slice(0, equals)).trim();
    if (!nameForm.test(name)) {
      report(`"${name}" is not a variable name: use letters, digits, _ and -, not beginning with a digit`);
      continue;
    }
    if (name === '__proto__') {
      report(`"${name}" is not a variable name: run records cannot contain it`);
      continue;
    }
    if (names.has(name)) {
      report(`the variable "${name}" is declared twice`);
      continue;
    }
    if (equals === -1) {
      names.add(name);
      vars.push({ name, value: undefined, file: false, at, length });
      continue;
    }
    const raw = entry.slice(equals + 1).trim();
    const value = /^(["']).*\1$/s.test(raw) && raw.length > 1 ? raw.slice(1, -1) : raw;
    const file = value.startsWith('@');
    if (file && value.length === 1) {
      report(`the variable "${name}" names no file after @`, name);
      continue;
    }
    names.add(name);
    vars.push({ name, value: file ? value.slice(1) : value, file, at, length });
  }
  return { vars, problems };
}
