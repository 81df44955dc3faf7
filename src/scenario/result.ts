/** What is said of a scenario that was run. */
import type { Phase, ScenarioClass } from './classify.ts';

/** `pass`; `fail` (of the product, or for want of the world around it: the class says which); `flaky`: it failed and,
 *  again in a clean copy, did not; `broken`: the scenario's own failure; `skipped`: live was not wanted. */
export const scenarioOutcomes = ['pass', 'fail', 'flaky', 'broken', 'skipped'] as const;
export type ScenarioOutcome = (typeof scenarioOutcomes)[number];

/** What the harness saw. */
export type Evidence = {
  readonly phase: Phase;
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** Milliseconds after which it was ended, where its time ran out. */
  readonly timeout: number | null;
  /** The class that the script named itself. */
  readonly marker: ScenarioClass | null;
  /** In a sentence, which of these decided. */
  readonly why: string;
  /** Of the second run, in a clean copy, where there was one. */
  readonly rerun: { readonly outcome: ScenarioOutcome; readonly exit_code: number | null } | null;
};

/** Every field is there, so that a reader of the JSON need not ask. */
export type ScenarioResult = {
  readonly scenario: string;
  readonly mode: 'selftest' | 'live';
  readonly outcome: ScenarioOutcome;
  readonly failure_class: ScenarioClass | null;
  readonly evidence: Evidence;
  /** Of all its runs together. */
  readonly duration_ms: number;
  /** Ends of what the deciding run printed. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** How often it was run and how often it passed; the run that tells a flake does not count. */
  readonly runs: { readonly total: number; readonly passed: number; readonly rate: number };
};

export type ScenarioReport = {
  readonly schema_version: 1;
  /** `none`: nothing was run that could judge. */
  readonly status: 'pass' | 'fail' | 'none';
  readonly exit_code: number;
  readonly failure_class: ScenarioClass | null;
  readonly results: readonly ScenarioResult[];
  /** Scripts beside the scenarios that are none by their name. */
  readonly passed_over: readonly string[];
};
