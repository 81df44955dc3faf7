/** The result of a scenario, and the report of all. */
import type { Phase, ScenarioClass } from './classify.ts';

/** `pass`; `fail`: the product or its environment failed, see the class; `flaky`: it failed, but passed in a second clean copy;
 *  `broken`: the scenario itself failed; `skipped`: live was off. */
export const scenarioOutcomes = ['pass', 'fail', 'flaky', 'broken', 'skipped'] as const;
export type ScenarioOutcome = (typeof scenarioOutcomes)[number];

/** `launcher`: the scenario started the product by APP_RUN only, in separate sandboxes. `phase`: each phase of the scenario had a separate
 *  sandbox, but the product was not started by APP_RUN, or not only. `none`: no sandbox. */
export type Isolation = 'launcher' | 'phase' | 'none';

/** The observations of the harness. */
export type Evidence = {
  readonly phase: Phase;
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** Milliseconds after which it was ended, if it timed out. */
  readonly timeout: number | null;
  /** The class that the script printed. */
  readonly marker: ScenarioClass | null;
  /** Why the outcome is what it is, as a sentence. */
  readonly why: string;
  readonly isolation: Isolation;
  /** What the isolation means, as a sentence. */
  readonly isolation_note: string;
  /** The second run, in a clean copy, if there was one. */
  readonly rerun: { readonly outcome: ScenarioOutcome; readonly exit_code: number | null } | null;
};

/** Every field is always set, for readers of the JSON. */
export type ScenarioResult = {
  readonly scenario: string;
  readonly mode: 'selftest' | 'live';
  readonly outcome: ScenarioOutcome;
  readonly failure_class: ScenarioClass | null;
  readonly evidence: Evidence;
  /** Sum of all its runs. */
  readonly duration_ms: number;
  /** Tails of the output of the deciding run. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** How often it ran and passed; a second run that checks for a flake does not count. */
  readonly runs: { readonly total: number; readonly passed: number; readonly rate: number };
};

export type ScenarioReport = {
  readonly schema_version: 1;
  /** `none`: all scenarios were skipped. */
  readonly status: 'pass' | 'fail' | 'none';
  readonly exit_code: number;
  readonly failure_class: ScenarioClass | null;
  readonly results: readonly ScenarioResult[];
  /** Scripts in the same folder that were skipped because of their names. */
  readonly passed_over: readonly string[];
};
