/** A finished node on its way to the next one, as the gates see it, and what they can say. */
import type { RunEnding, Step, StepFacts } from './decision.ts';
import type { Graph } from './graph.ts';
import type { Context, Outcome } from './outcome.ts';
import type { EndCause, LastFailure, RunState } from './records/checkpoint.ts';

/** A finished node, and where it leads as far as the edges and the gates before this one say. */
export type Crossing = {
  readonly graph: Graph;
  /** The state before the node. */
  readonly before: RunState;
  readonly outcome: Outcome;
  readonly facts: StepFacts;
  readonly so: Step;
};

export type GateVerdict =
  | { readonly reroute: string; readonly context: Context }
  | { readonly end: RunEnding }
  | undefined;

/** The run ends as failed. */
export const failedEnd = (reason: string, cause?: EndCause): GateVerdict => ({
  end: { ok: false, exitNode: null, reason, code: 1, ...(cause === undefined ? {} : { cause }) },
});

/** The success that the run would end with. */
export const successOf = ({ decision }: Step): RunEnding | undefined =>
  decision.do === 'finish' && decision.ending.ok ? decision.ending : undefined;

/** 3 if a model's API or network is the final cause, 4 if its output is, else 1. */
export const failureCode = (last: LastFailure | null): number =>
  last?.model === 'api' ? 3 : last?.model === 'output' ? 4 : 1;

export const failsAtExit = ({ so: { change } }: Crossing, reason: string): GateVerdict => ({
  end: { ok: false, exitNode: change.node, reason, code: failureCode(change.now.last_failure) },
});
