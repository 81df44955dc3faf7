/** References in prompts and commands: `$goal`, `${goal}`, `${var.x}`, `${ctx.key}`, `${node.id.key}`. */

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

export type Scope = {
  readonly goal: string | undefined;
  /** The value of a variable, a context key or a node's `id.key`; undefined when there is none. */
  lookup(kind: 'var' | 'ctx' | 'node', key: string): string | undefined;
};

// Any other ${…} is none of ours: a shell's own, or plain text of a prompt.
const form = /\$\$\{|\$\{goal\}|\$\{(var|ctx|node)\.([^\s{}]*)\}|\$goal(?![A-Za-z0-9_])/g;

/** One single-quoted word of a POSIX shell, whatever the value holds. */
export const shellWord = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;

const referenceAt = (match: RegExpExecArray): Reference | undefined => {
  const [written, kind, key = ''] = match;
  if (written === '$${') return undefined;
  const what = kind === 'var' || kind === 'ctx' || kind === 'node' ? kind : 'goal';
  return { kind: what, key, written, at: match.index, length: written.length };
};

/** Every reference of a text, in order. `$${` makes none. */
export const references = (text: string): readonly Reference[] =>
  [...text.matchAll(form)].flatMap((match) => referenceAt(match) ?? []);

/** Puts values in the place of references, once: what a value holds is never expanded again. `$${` becomes `${`,
 *  `$goal` stays where there is no goal. In `shell` mode each value becomes one quoted word. The answer is `unknown`,
 *  naming the reference as written without its signs (`var.x`), when there is no such value. */
export function expand(
  text: string,
  scope: Scope,
  mode: 'plain' | 'shell',
): { readonly text: string } | { readonly unknown: string } {
  let out = '';
  let from = 0;
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
    if (value !== undefined) out += mode === 'shell' ? shellWord(value) : value;
    else if (written === '$goal') out += written;
    else return { unknown: written.slice(2, -1) };
  }
  return { text: out + text.slice(from) };
}

/** The references of a shell command that stand inside quotes, where a quoted word would fall apart. Text within
 *  `$(…)` or backquotes is a command of its own, also inside double quotes. */
export function quotedReferences(command: string): readonly Reference[] {
  const found = references(command);
  const quoted: Reference[] = [];
  const around: string[] = [];
  let next = 0;
  for (let at = 0; at < command.length; at++) {
    const inside = around.at(-1);
    const reference = found[next];
    if (reference !== undefined && reference.at === at) {
      if (inside === "'" || inside === '"') quoted.push(reference);
      next++;
      at += reference.length - 1;
      continue;
    }
    const c = command[at];
    if (inside === "'") {
      if (c === "'") around.pop();
    } else if (c === '\\') at++;
    else if (c === '"') {
      if (inside === '"') around.pop();
      else around.push('"');
    } else if (c === '`') {
      if (inside === '`') around.pop();
      else around.push('`');
    } else if (c === '$' && command[at + 1] === '(') {
      around.push(')');
      at++;
    } else if (inside !== '"') {
      if (c === "'") around.push("'");
      else if (c === '(') around.push(')');
      else if (c === ')' && inside === ')') around.pop();
      else if (c === '#' && (at === 0 || /[\s;&|(]/.test(command[at - 1] ?? ''))) {
        const end = command.indexOf('\n', at);
        at = (end === -1 ? command.length : end) - 1;
        while (found[next] !== undefined && (found[next]?.at ?? 0) <= at) next++;
      }
    }
  }
  return quoted;
}
