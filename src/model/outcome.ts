/** How a stage ended, and what it wants remembered. */
import type { Attribution, Rerun } from './attribution.ts';
import type { Json, JsonObject } from './json.ts';
import type { Park } from './park.ts';

export const outcomeWords = ['success', 'partial_success', 'retry', 'fail', 'skipped'] as const;
export type OutcomeWord = (typeof outcomeWords)[number];

/** Synonyms that real pipelines and agents use, read as ours. */
export const outcomeSynonyms: Readonly<Record<string, OutcomeWord>> = {
  succeeded: 'success',
  pass: 'success',
  failed: 'fail',
  failure: 'fail',
};

/** The outcomes that an agent may answer. */
export const agentOutcomes = ['success', 'partial_success', 'retry', 'fail'] as const;
export type AgentOutcome = (typeof agentOutcomes)[number];

/** The outcome that a word of an agent means, undefined for any other word. */
export function agentOutcomeOf(word: string): AgentOutcome | undefined {
  const meant = Object.hasOwn(outcomeSynonyms, word) ? outcomeSynonyms[word] : word;
  return agentOutcomes.find((one) => one === meant);
}

/** Whose failure it is. `product`: what is being built; `scenario`: the judge; `infra`: network, quota, machine;
 *  `config`: this pipeline or its flags; `agent`: an agent program or its answer; `stalled`: an agent that was stopped
 *  since it was silent or went round in circles; `internal`: us; `budget`: a call that was not made because the rest of a
 *  limit is kept for verification. */
export const failureClasses = [
  'product',
  'scenario',
  'infra',
  'config',
  'guardrail',
  'timeout',
  'agent',
  'stalled',
  'cancelled',
  'internal',
  'budget',
] as const;
export type FailureClass = (typeof failureClasses)[number];

/** The run's context: what stages tell each other. Keys are dotted words. */
export type Context = { readonly [key: string]: Json };

/** Who did an agent's work, where there was a choice of agents or models. */
export type AnsweredBy = {
  readonly agent: string;
  readonly model?: string;
  /** How many product failures chose the model, where the node names several. */
  readonly escalation?: number;
  /** Those that were asked before and could not answer, in order. */
  readonly tried?: readonly {
    readonly agent: string;
    readonly class: FailureClass;
    readonly reason: string;
  }[];
};

/** What any stage may say whatever its outcome. */
export type Said = {
  readonly label: string;
  readonly suggested: readonly string[];
  readonly updates: JsonObject;
  readonly notes: string;
  readonly by?: AnsweredBy;
};
export const saidNothing: Said = { label: '', suggested: [], updates: {}, notes: '' };

export type Failure = {
  readonly status: 'fail';
  readonly reason: string;
  readonly class: FailureClass;
  /** True when the stage broke (crash, timeout, no valid answer, bad configuration) instead of running to its end
   *  and reporting failure. A broken stage leaves only by an edge whose condition is true. */
  readonly broke: boolean;
  /** Set when a single-turn model call is the cause: the run's exit code becomes 3 (api) or 4 (output). */
  readonly model?: 'api' | 'output';
  /** The server's own wait before a retry, in milliseconds. */
  readonly retryAfterMs?: number;
  /** What the failed call waits for: the run may be parked until then. */
  readonly park?: Park;
  /** The agent could not be started (no program, a setting that makes no sense), or its model's API refused it (the key, the
   *  name of the model, the request): so it would be the next time, until somebody mends that. */
  readonly hopeless?: true;
  /** True when the class is the stage's own word (`failure_class=…`) and not our reading of its exit. */
  readonly classSaid?: boolean;
  /** The exit code of the program that failed, when one ran to its end. */
  readonly exitCode?: number;
  /** How the class is known, where a program of the stage's was judged. */
  readonly attribution?: Attribution;
  /** The command that failed. */
  readonly command?: string;
  /** True when it runs a scenario: its verdict is about the product. */
  readonly judge?: boolean;
  readonly rerun?: Rerun;
};

export type Outcome = Said &
  (
    | { readonly status: 'success' | 'partial_success' | 'skipped' }
    | { readonly status: 'retry'; readonly reason: string }
    | Failure
  );

export const succeeded = (said: Partial<Said> = {}): Outcome => ({
  ...saidNothing,
  ...said,
  status: 'success',
});

export const failed = (
  reason: string,
  failureClass: FailureClass,
  more: Partial<Said> & Partial<Omit<Failure, 'status' | 'reason' | 'class'>> = {},
): Outcome & Failure => ({
  ...saidNothing,
  broke: false,
  ...more,
  status: 'fail',
  reason,
  class: failureClass,
});

/** The stage's own reason, empty when it has none. */
export const reasonOf = (o: Outcome): string => (o.status === 'fail' || o.status === 'retry' ? o.reason : '');

/** Of a tool that a signal has ended: it has no exit code. */
export const endedBySignal = 'tool_exit_code_-1';

/** A reason as people are told it: a code that stands for a signal does not say for which. */
export const toldReason = (reason: string, attribution: Attribution | undefined): string =>
  reason === endedBySignal && attribution?.how === 'evidence' ? `${reason} (${attribution.why})` : reason;
