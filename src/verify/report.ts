/** What a verification has found, and what it could not look at. */

/** Something that is not as the run's own records say. */
export type Problem = {
  readonly code: ProblemCode;
  /** A `note` tells of something outside the run, or of no account; only an `error` is a change of the run. */
  readonly severity: 'error' | 'note';
  /** A path in the run directory; of a note about a file outside, its own. */
  readonly where: string;
  readonly message: string;
  /** Null where there is nothing to compare. */
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
  | 'delivery'
  | 'source';

export type Report = {
  readonly problems: readonly Problem[];
  readonly notes: readonly Problem[];
  /** How many of what hold or do not: files, records, commits. */
  readonly checked: Readonly<Record<string, number>>;
  /** What nobody could check, each with its reason. */
  readonly unchecked: readonly string[];
};

/** Gathers a report. The same thing is told once. */
export class Findings {
  private readonly all = new Map<string, Problem>();
  private readonly counts: Record<string, number> = {};
  private readonly unchecked = new Set<string>();

  add(
    code: ProblemCode,
    where: string,
    message: string,
    values: { readonly should?: string | undefined; readonly is?: string | undefined } = {},
    severity: Problem['severity'] = 'error',
  ): void {
    const key = `${severity} ${code} ${where} ${message}`;
    const { should = null, is = null } = values;
    if (!this.all.has(key)) this.all.set(key, { code, severity, where, message, should_be: should, is });
  }

  /** A file that has another hash than it should have, or is gone. True when it holds. */
  hash(where: string, should: string, is: string | undefined, what = 'the file'): boolean {
    if (is === undefined)
      this.add('missing', where, `${what} is missing, or is no file any more`, { should });
    else if (is !== should)
      this.add('changed', where, `${what} is not what was written there`, { should, is });
    return is === should;
  }

  note(where: string, message: string, values: { should?: string; is?: string } = {}): void {
    this.add('source', where, message, values, 'note');
  }

  count(what: string, n = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + n;
  }

  cannot(why: string): void {
    this.unchecked.add(why);
  }

  /** Whether anything is known to be wrong with this file. */
  isWrong(where: string): boolean {
    return [...this.all.values()].some((one) => one.severity === 'error' && one.where === where);
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
