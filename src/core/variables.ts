/** The parameters of a pipeline: what `vars` and `inputs` of its graph declare. */
import type { Graph } from './graph.ts';
import { own } from './json.ts';
import { expand, inputsIn } from './references.ts';
import { withGraphSettings } from './settings/typing.ts';

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
      report('an entry is empty');
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

/** The parameters of a pipeline, each once: those of `vars`, then those of `inputs`. Where a graph declares none, other
 *  implementations declare them elsewhere: then each `{{ inputs.x }}` of its texts is one that every run must set. */
export function variablesOf({ settings, attrs, nodes }: Graph): readonly Variable[] {
  const { vars = '', inputs = '' } = settings;
  const declared = [vars, inputs].flatMap((text) => parseVars(text).vars);
  const texts = [attrs, ...[...nodes.values()].map((node) => node.attrs)].flatMap((all) =>
    [...all.values()].map(({ value }) => value.text),
  );
  const isDeclared = (vars + inputs).trim() !== '';
  const named = isDeclared ? [] : [...new Set(texts.flatMap(inputsIn))];
  const all = [
    ...declared,
    ...named.map((name) => ({ name, value: undefined, file: false, at: 0, length: 0 })),
  ];
  return all.filter(({ name }, at) => all.findIndex((one) => one.name === name) === at);
}

/** The graph with the variables that its goal names in their places. */
export function withGoal(graph: Graph, variables: Readonly<Record<string, string>>): Graph {
  const { goal } = graph.settings;
  if (goal === undefined) return graph;
  const lookup = (kind: string, key: string) => (kind === 'var' ? own(variables, key) : undefined);
  const expanded = expand(goal.text, { goal: undefined, lookup }, 'prompt');
  if ('unknown' in expanded || expanded.text === goal.text) return graph;
  return withGraphSettings(graph, { goal: { text: expanded.text, value: expanded.text } });
}
