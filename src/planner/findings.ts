/** The findings of a plan check. */
import type { Diagnostic } from '../core/diagnostic.ts';

/** What each code means, and how to fix it. */
const codes = {
  E000: {
    means:
      'The answer is not a plan: not JSON, too large, without a list of work orders, or an element or the contract has the wrong type',
    fix: 'Answer with one JSON object: {"system_overview": [...], "verify_contract": {...}, "work_orders": [...]}.',
  },
  E001: {
    means: 'An id does not match its position: `WO-01`, `WO-02` and so on, at most `WO-99`',
    fix: 'Number the work orders WO-01, WO-02, ... in the order of the list, without a gap, at most 99.',
  },
  E003: {
    means: 'A word of an acceptance command is a shell operator (`| || && ; > >> < <<`), quoted or not',
    fix: 'Acceptance commands run without a shell: write one command per entry, without operators.',
  },
  E004: {
    means: 'A path of an order has a wildcard (`* ? [`)',
    fix: 'Name each file; wildcards are not expanded.',
  },
  E005: {
    means: 'Keys of an order are missing or have values of the wrong type',
    fix: 'Give every key of a work order the type it should have.',
  },
  E006: {
    means: 'The program after `python -c` is not valid for the `python3` of this machine',
    fix: 'Correct the Python program, or put it into a file that the step writes.',
  },
  E007: {
    means: 'A command cannot be split into words: an open quote, or a backslash at the end',
    fix: 'Close every quote, and do not end a command with a backslash.',
  },
  E101: {
    means: 'A precondition cannot be true at that step',
    fix: 'Require only what the repository or an earlier work order provides; list files that exist already as such.',
  },
  E102: {
    means: 'A file is required both to exist and to be absent',
    fix: 'A file cannot be required to exist and to be absent at once: drop one of the two.',
  },
  E103: {
    means: 'A postcondition names a file that the order may not write',
    fix: 'Add the file to allowed_files, or drop the postcondition.',
  },
  E104: {
    means: 'An allowed file has no postcondition',
    fix: 'Add a file_exists postcondition for the file, or take it out of allowed_files.',
  },
  E105: {
    means: "An order's own commands contain the global verify command",
    fix: 'The verify command runs after every step anyway: use a command that proves this step alone.',
  },
  E106: {
    means: 'The contract requires a file that nothing provides',
    fix: 'Let some work order promise the file, or take it out of verify_contract.requires.',
  },
  E201: {
    means:
      'Text outside quotes that only a shell interprets: `2>&1`, `a&&b`, `a|b`, `a;`, `&`, `<<<`, backticks, `$(...)` (also as a whole word in double quotes), a comment, a line end, a first word such as `cd` or `!`',
    fix:
      'Commands run without a shell: split the command into several, put literal text into single quotes, or put it into a ' +
      'script that the step writes and run that with bash.',
  },
  E202: {
    means:
      'The command would be refused at run time: an absolute path, a `..`, a `~`, a variable that makes a program load code, no program at all',
    fix: 'Name files relative to the repository, and set nothing that makes a program load code.',
  },
  E203: {
    means: 'The program after `node -e` or `node -p` is not JavaScript',
    fix: 'Correct the JavaScript program, or put it into a file that the step writes.',
  },
  E207: {
    means: 'As E006, for other spellings: `python3 -c`, `env python -c`, `python -I -c`',
    fix: 'Correct the Python program, or put it into a file that the step writes.',
  },
  W101: {
    means: 'A `python -c` program imports a module that does not exist at that step',
    fix: 'Make sure that the imported module is written by this step or an earlier one.',
  },
  W102: {
    means: 'A `python -c` program (in any spelling) was not checked: `python3` is missing or did not answer',
    fix: 'Install python3: it checks the program without running it.',
  },
  W201: {
    means: 'A variable, wildcard or `{a,b}` outside quotes: nothing expands it',
    fix: 'Nothing is expanded: write the value or the file names themselves, or quote the word if it is meant literally.',
  },
  W203: {
    means: 'A `node -e` program imports a file that does not exist at that step',
    fix: 'Import a file that this step or an earlier one writes, with its whole name where it is an import.',
  },
  W208: {
    means: 'As W101, for the spellings of E207',
    fix: 'Make sure that the imported module is written by this step or an earlier one.',
  },
} as const;

export type FindingCode = keyof typeof codes;

/** All codes; `docs/plan-codes.md` explains each. */
export const findingCodes: readonly string[] = Object.keys(codes);

/** Codes of the strict rules; without `strict` they are notes and the plan stays valid. */
const strictOnly: ReadonlySet<FindingCode> = new Set(['E201', 'E202', 'E207', 'W201', 'W208']);
export const isStrictOnly = (finding: PlanFinding): boolean => strictOnly.has(finding.code);

export type PlanFinding = {
  readonly code: FindingCode;
  /** The order's id; without one `index-N` (from 0), or `?` in checks across orders; null for the whole plan. */
  readonly wo_id: string | null;
  /** The key with the problem, if there is one. */
  readonly field: string | null;
  readonly message: string;
};

/** Findings about one order. */
export const findingOf =
  (wo_id: string) =>
  (code: FindingCode, field: string | null, message: string): PlanFinding => ({
    code,
    wo_id,
    field,
    message,
  });

export const isError = (finding: PlanFinding): boolean => !finding.code.startsWith('W');

/** A code for people; undefined where there is none of that name. */
export function planCode(
  code: string,
):
  | { readonly code: string; readonly strict: boolean; readonly means: string; readonly fix: string }
  | undefined {
  const known = Object.hasOwn(codes, code) ? (code as FindingCode) : undefined;
  return known === undefined ? undefined : { code, strict: strictOnly.has(known), ...codes[known] };
}

export const fixFor = (code: FindingCode): string => codes[code].fix;

/** A finding about a plan as a `Diagnostic`. */
export const toDiagnostic = (finding: PlanFinding): Diagnostic => ({
  code: finding.code,
  severity: isError(finding) ? 'error' : 'warning',
  message: [finding.wo_id, finding.field, finding.message]
    .filter((part) => part !== null && part !== '')
    .join(': '),
  fix: codes[finding.code].fix,
});
