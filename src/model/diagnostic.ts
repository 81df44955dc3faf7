/** What is wrong with a text of the user's: one type for syntax, lint, plans and proposals, and one drawing of it. */
import type { OutcomeWord } from './outcome.ts';

/** A place in a text. `offset` counts UTF-16 units from 0; `line` and `column` are 1-based, `column` in characters. */
export type Position = { readonly offset: number; readonly line: number; readonly column: number };
export type Span = { readonly start: Position; readonly end: Position };

/** A span in a named file; `file` is the path as the user typed it. */
export type Place = { readonly file: string; readonly span: Span };

/** A hint is shown by `factory validate` only; nothing depends on it. */
export type Severity = 'error' | 'warning' | 'hint';

/** One stage of a run that shows a finding: how it ends, and where the engine then goes. */
export type WitnessStep = {
  readonly node: string;
  readonly outcome: OutcomeWord;
  /** The stage breaks (a timeout, a crash) instead of running to its end and reporting. */
  readonly broke?: true;
  readonly failure_class?: string;
  readonly preferred_label?: string;
  readonly suggested_ids?: readonly string[];
  /** Context keys that the stage sets. */
  readonly sets?: Readonly<Record<string, string>>;
  /** The edge that it leaves by; null at an exit, and where no edge carries the run on. */
  readonly edge: { readonly to: string; readonly condition: string } | null;
  /** The run is at an exit. */
  readonly exit?: true;
  /** An exit sends the run back there, since a goal gate is not reached. */
  readonly retry_target?: string;
};

export type Diagnostic = {
  /** Kebab-case for pipelines (`exit-reachable`), numbered for plans (`E101`). */
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly place?: Place;
  /** One sentence that says how to mend it. */
  readonly fix?: string;
  /** The stages of a run that shows it, from the start on. */
  readonly witness?: readonly WitnessStep[];
};

export const hasErrors = (found: readonly Diagnostic[]): boolean => found.some((d) => d.severity === 'error');
