/** The report of a verification: differences, and parts that could not be checked. */
import type { Json } from '../core/json.ts';

/** A difference from the run's own records. */
export type VerifyProblem = {
  readonly code: ProblemCode;
  /** Only an `error` is a change of the run. */
  readonly severity: 'error' | 'note';
  /** A path in the run directory, or a repository outside. */
  readonly where: string;
  readonly message: string;
  /** Null if there is no value to compare. */
  readonly should_be: string | null;
  readonly is: string | null;
};

export type ProblemCode =
  | 'changed'
  | 'missing'
  | 'added'
  | 'unreadable'
  | 'contradiction'
  | 'history'
  | 'delivery';

export type Report = {
  readonly problems: readonly VerifyProblem[];
  readonly notes: readonly VerifyProblem[];
  /** How many files, records, commits, … were checked. */
  readonly checked: Readonly<Record<string, number>>;
  /** Parts that could not be checked, each with its reason. */
  readonly unchecked: readonly string[];
};

/** Collects a report without duplicates. */
export class Findings {
  private readonly all = new Map<string, VerifyProblem>();
  private readonly counts: Record<string, number> = {};
  private readonly unchecked = new Set<string>();

  add(
    code: ProblemCode,
    where: string,
    message: string,
    values: { readonly should?: string | undefined; readonly is?: string | undefined } = {},
    severity: VerifyProblem['severity'] = 'error',
  ): void {
    const key = `${severity} ${code} ${where} ${message}`;
    const { should = null, is = null } = values;
    if (!this.all.has(key)) this.all.set(key, { code, severity, where, message, should_be: should, is });
  }

  /** Compares a file's hash, undefined if there is no file. Returns whether it matches. */
  hash(where: string, should: string, is: string | undefined, what = 'the file'): boolean {
    if (is === undefined) this.add('missing', where, `${what} is missing, or is not a file`, { should });
    else if (is !== should) this.add('changed', where, `${what} is not what the run wrote`, { should, is });
    return is === should;
  }

  /** Compares a file with the hash at its end, both from `ownHashOf`. */
  ownHash(where: string, { is, says }: { readonly is: string; readonly says: string }): void {
    if (says === '') this.add('changed', where, 'its own hash is missing, or does not end the file');
    else this.hash(where, says, is);
  }

  count(what: string, n = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + n;
  }

  cannot(why: string): void {
    this.unchecked.add(why);
  }

  report(): Report {
    const all = [...this.all.values()];
    return {
      problems: all.filter(({ severity }) => severity === 'error'),
      notes: all.filter(({ severity }) => severity === 'note'),
      checked: { ...this.counts },
      unchecked: [...this.unchecked],
    };
  }
}

/** A value for `should_be` and `is`, cut. */
export function shortJson(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
