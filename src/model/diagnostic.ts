/** What is wrong with a text of the user's: one type for syntax, lint, plans and proposals, and one drawing of it. */

/** A place in a text. `offset` counts UTF-16 units from 0; `line` and `column` are 1-based, `column` in characters. */
export type Position = { readonly offset: number; readonly line: number; readonly column: number };
export type Span = { readonly start: Position; readonly end: Position };

/** A span in a named file; `file` is the path as the user typed it. */
export type Place = { readonly file: string; readonly span: Span };

export type Severity = 'error' | 'warning';

export type Diagnostic = {
  /** Kebab-case for pipelines (`exit-reachable`), numbered for plans (`E101`). */
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly place?: Place;
  /** One sentence that says how to mend it. */
  readonly fix?: string;
};

export const hasErrors = (found: readonly Diagnostic[]): boolean => found.some((d) => d.severity === 'error');
