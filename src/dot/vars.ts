/** The graph attribute `vars="spec=@../x.md, attempts=5"`: parameters of a pipeline with their defaults. */

export type Variable = {
  readonly name: string;
  /** The default; of a file variable without its `@`, a path relative to the pipeline file. */
  readonly value: string;
  /** True when the default begins with `@`: the variable's text is read from a file. */
  readonly file: boolean;
  /** Where the entry stands in the attribute's value. */
  readonly at: number;
  readonly length: number;
};
export type VariableProblem = {
  readonly message: string;
  readonly at: number;
  readonly length: number;
  /** The variable that is meant, where the entry names one. */
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

/** The variables in order, and every entry that is none. A blank text declares none. */
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
    const say = (message: string, name?: string) => {
      const meant = name === undefined || !nameForm.test(name) ? {} : { name };
      problems.push({ message, at: Math.min(at, text.length - 1), length, ...meant });
    };
    if (entry === '') {
      say('an entry of vars is empty');
      continue;
    }
    const equals = entry.indexOf('=');
    if (equals === -1) {
      say(`the variable "${entry}" has no default: write ${entry}=value`, entry);
      continue;
    }
    const name = entry.slice(0, equals).trim();
    if (!nameForm.test(name)) {
      say(`"${name}" is no variable name: letters, digits, _ and -, not beginning with a digit`);
      continue;
    }
    if (name === '__proto__') {
      say(`"${name}" is no variable name: the records of a run cannot hold it`);
      continue;
    }
    if (names.has(name)) {
      say(`the variable "${name}" is declared twice`);
      continue;
    }
    const raw = entry.slice(equals + 1).trim();
    const value = /^(["']).*\1$/s.test(raw) && raw.length > 1 ? raw.slice(1, -1) : raw;
    const file = value.startsWith('@');
    if (file && value.length === 1) {
      say(`the variable "${name}" names no file after @`, name);
      continue;
    }
    names.add(name);
    vars.push({ name, value: file ? value.slice(1) : value, file, at, length });
  }
  return { vars, problems };
}
