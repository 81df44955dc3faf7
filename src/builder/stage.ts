/** The stages at which a work order's attempt can fail, by the names that records and prompts use. */
import type { FailureClass } from '../model/outcome.ts';

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

/** Stages that another attempt cannot mend: the plan or the disk is wrong, not the answer. */
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
export const classOf = (stage: FailureStage): FailureClass => classes[stage];

const reminders: Readonly<Record<FailureStage, string>> = {
  preflight: 'A precondition of the work order does not hold; the plan has to change.',
  exception: 'Answer with the proposal only.',
  llm_output_invalid:
    'Answer with exactly one JSON object {"summary", "writes": [{"path", "base_sha256", "content"}]} and nothing else.',
  write_scope_violation: 'Write only the allowed files, each at most once, never through a link.',
  stale_context:
    'Each base_sha256 must be the hash shown for that file; a new file takes the hash of no bytes that is shown.',
  write_failed: 'The files could not be written.',
  verify_failed: 'The whole project has to pass its check, not only the new part.',
  acceptance_failed: 'Every promised file must exist and every acceptance command must exit with 0.',
};
export const reminderOf = (stage: FailureStage): string => reminders[stage];

/** How checks end that no exit code tells of, and what a programmer can do about each. */
export const endings = {
  refused: 'The command of the plan may not be run as it is written; nothing in the files can change that.',
  missing:
    'The command of the plan needs a program that is not installed; nothing in the files can change that.',
  timeout:
    'The command did not come to an end in its time. Let nothing wait for input or for a connection, stop servers and timers when their work is done, and let every loop end.',
} as const;
export type Ending = keyof typeof endings;
