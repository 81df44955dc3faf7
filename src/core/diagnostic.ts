/** A problem in the user's text: one type for syntax, lint, plans and proposals. */
import type { OutcomeWord } from './outcome.ts';

/** Limits of messages: characters of a name and of a message, and the number of names. */
export const shown = { name: 200, message: 1000, names: 20 } as const;
export const shortText = (text: string, most: number): string =>
  text.length <= most ? text : `${[...text.slice(0, most)].slice(0, -1).join('')}…`;

export const errorText = (error: unknown): string =>
  shortText(error instanceof Error ? error.message : String(error), shown.message);

/** `code` is the exit code where it is not 2. */
export type Refusal = { readonly problems: readonly Diagnostic[]; readonly code?: number };

/** An error with its fix, without a place in a text. */
export const wrong = (code: string, message: string, fix?: string): Diagnostic => ({
  code,
  severity: 'error',
  message,
  ...(fix === undefined ? {} : { fix }),
});

/** A refusal with one diagnostic; `exit` is the exit code, by default 2. */
export const refused = (code: string, message: string, fix?: string, exit?: number): Refusal => ({
  problems: [wrong(code, message, fix)],
  ...(exit === undefined ? {} : { code: exit }),
});

/** A place in a text. `offset` counts UTF-16 units from 0; `line` and `column` are 1-based, `column` in characters. */
export type Position = { readonly offset: number; readonly line: number; readonly column: number };
export type Span = { readonly start: Position; readonly end: Position };

/** A span in a named file; `file` is the path as the user typed it. */
export type Place = { readonly file: string; readonly span: Span };

/** Another text for a place of a file; an empty place is where the text is added. */
export type TextEdit = { readonly span: Span; readonly text: string };

/** Only `factory validate` shows hints; they never fail a command. */
export type Severity = 'error' | 'warning' | 'hint';

/** One execution in the example run of a finding: how it ends, and where the engine goes next. */
export type WitnessStep = {
  readonly node: string;
  readonly outcome: OutcomeWord;
  /** The node breaks (a timeout, a crash) instead of running to its end and reporting failure. */
  readonly broke?: true;
  readonly failure_class?: string;
  readonly preferred_label?: string;
  /** The label is a word that it answers as its outcome. */
  readonly own_word?: true;
  /** How often it is tried until this failure is final. */
  readonly attempts?: number;
  readonly suggested_ids?: readonly string[];
  /** Context keys that the node sets. */
  readonly sets?: Readonly<Record<string, string>>;
  /** The edge taken; null at an exit, and where no edge fits. */
  readonly edge: { readonly to: string; readonly condition: string } | null;
  /** The node is an exit. */
  readonly exit?: true;
  /** The node passes on the outcome before it. */
  readonly passes?: true;
};

export type Diagnostic = {
  /** Kebab-case for pipelines (`exit-missing`), numbered for plans (`E101`). */
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly place?: Place;
  /** How to fix it, in one sentence. */
  readonly fix?: string;
  /** What `fix` says, as changes of the file that `place` names. */
  readonly edits?: readonly TextEdit[];
  /** The edits are the only thing that the author can have meant: `factory validate --fix` makes them. Others are for a person to choose. */
  readonly sure?: true;
  /** An example run that shows the problem, from the start node. */
  readonly witness?: readonly WitnessStep[];
};

/** The message behind its place, in one line. */
export const placedMessage = (
  message: string,
  place: { readonly file: string; readonly span: { readonly start: Omit<Position, 'offset'> } } | undefined,
): string =>
  place === undefined
    ? message
    : `${place.file}:${place.span.start.line}:${place.span.start.column}: ${message}`;

export const hasErrors = (found: readonly Diagnostic[]): boolean => found.some((d) => d.severity === 'error');

/** A code of findings, for people: the rule, the inside of a digraph that breaks it, and the fix. */
export type CodeDescription = {
  readonly code: string;
  readonly severity: Diagnostic['severity'];
  readonly rule: string;
  readonly wrong: string;
  readonly fix: string;
};
