/** The findings of a plan check. */
import type { Diagnostic } from '../model/diagnostic.ts';

/** How to fix each kind of finding, in a sentence. */
const fixes = {
  E000: 'Answer with one JSON object: {"system_overview": [...], "verify_contract": {...}, "work_orders": [...]}.',
  E001: 'Number the work orders WO-01, WO-02, ... in the order of the list, without a gap, at most 99.',
  E003: 'Acceptance commands run without a shell: write one command per entry, without operators.',
  E004: 'Name each file; wildcards are not expanded.',
  E005: 'Give every key of a work order the type it should have.',
  E006: 'Correct the Python program, or put it into a file that the step writes.',
  E007: 'Close every quote, and do not end a command with a backslash.',
  E101: 'Require only what the repository or an earlier work order provides; list files that exist already as such.',
  E102: 'A file cannot be required to exist and to be absent at once: drop one of the two.',
  E103: 'Add the file to allowed_files, or drop the postcondition.',
  E104: 'Add a file_exists postcondition for the file, or take it out of allowed_files.',
  E105: 'The verify command runs after every step anyway: use a command that proves this step alone.',
  E106: 'Let some work order promise the file, or take it out of verify_contract.requires.',
  E201:
    'Commands run without a shell: split the command into several, put literal text into single quotes, or put it into a ' +
    'script that the step writes and run that with bash.',
  E202: 'Name files relative to the repository, and set nothing that makes a program load code.',
  E203: 'Correct the JavaScript program, or put it into a file that the step writes.',
  E207: 'Correct the Python program, or put it into a file that the step writes.',
  W101: 'Make sure that the imported module is written by this step or an earlier one.',
  W102: 'Install python3: it checks the program without running it.',
  W201: 'Nothing is expanded: write the value or the file names themselves, or quote the word if it is meant literally.',
  W203: 'Import a file that this step or an earlier one writes, with its whole name where it is an import.',
  W208: 'Make sure that the imported module is written by this step or an earlier one.',
} as const;

export type FindingCode = keyof typeof fixes;

/** All codes; `docs/plan-codes.md` explains each. */
export const findingCodes: readonly string[] = Object.keys(fixes);

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

export const isError = (finding: PlanFinding): boolean => !finding.code.startsWith('W');

export const fixFor = (code: FindingCode): string => fixes[code];

/** A finding about a plan as a `Diagnostic`. */
export const toDiagnostic = (finding: PlanFinding): Diagnostic => ({
  code: finding.code,
  severity: isError(finding) ? 'error' : 'warning',
  message: [finding.wo_id, finding.field, finding.message]
    .filter((part) => part !== null && part !== '')
    .join(': '),
  fix: fixes[finding.code],
});
