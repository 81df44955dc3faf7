/** The stages in which an attempt at a work order can fail, by the names in records and prompts. */
import type { FailureClass } from '../outcome.ts';

export const failureStages = [
  'preflight',
  'exception',
  'llm_output_invalid',
  'write_scope_violation',
  'stale_context',
  'write_failed',
  'verify_failed',
  'acceptance_failed',
] as const;
export type FailureStage = (typeof failureStages)[number];

export type StageFailure = { readonly stage: FailureStage; readonly reason: string };
export const stageFailure = (stage: FailureStage, reason: string): StageFailure => ({ stage, reason });

/** Failures that another attempt cannot fix: the cause is the plan or the disk, not the answer. */
export const neverRetried: ReadonlySet<FailureStage> = new Set(['preflight', 'write_failed']);

const classes: Readonly<Record<FailureStage, FailureClass>> = {
  preflight: 'product',
  exception: 'agent',
  llm_output_invalid: 'agent',
  write_scope_violation: 'guardrail',
  stale_context: 'product',
  write_failed: 'product',
  verify_failed: 'product',
  acceptance_failed: 'product',
};
export const failureClassOf = (stage: FailureStage): FailureClass => classes[stage];

const words: Readonly<Record<FailureStage, string>> = {
  preflight: 'a precondition does not hold',
  exception: 'no answer from the model',
  llm_output_invalid: 'the answer is no proposal',
  write_scope_violation: 'wrote outside its scope',
  stale_context: 'based on other files',
  write_failed: 'files could not be written',
  verify_failed: 'verification failed',
  acceptance_failed: 'acceptance failed',
};
/** The failure for people. */
export const stageWords = (stage: FailureStage): string => words[stage];

const reminders: Readonly<Record<FailureStage, string>> = {
  preflight: 'A precondition of the work order does not hold; the plan has to change.',
  exception: 'Answer with the proposal only.',
  llm_output_invalid:
    'Answer with exactly one JSON object {"summary", "writes": [{"path", "base_sha256", "content"}]} and nothing else.',
  write_scope_violation: 'Write only the allowed files, each at most once, never through a link.',
  stale_context:
    'Each base_sha256 must be the hash shown for that file; for a new file, the shown hash of no bytes.',
  write_failed: 'The files could not be written.',
  verify_failed: 'The whole project has to pass its check, not only the new part.',
  acceptance_failed: 'Every promised file must exist and every acceptance command must exit with 0.',
};
export const reminderOf = (stage: FailureStage): string => reminders[stage];

/** Reminders for checks that ended without an exit code. */
export const endings = {
  refused: 'The command of the plan is not permitted as written; nothing in the files can change that.',
  missing:
    'The command of the plan needs a program that is not installed; nothing in the files can change that.',
  timeout:
    'The command timed out. Do not wait for input or for a connection, stop servers and timers when their work is done, and make every loop end.',
} as const;
export type StageEnding = keyof typeof endings;
