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
