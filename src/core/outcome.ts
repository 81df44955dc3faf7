/** How an execution of a node ended, and what it reported. */
import * as z from 'zod';
import type { Json, JsonObject } from './json.ts';
import { once } from './once.ts';

export const outcomeWords = ['success', 'partial_success', 'retry', 'fail', 'skipped'] as const;
export type OutcomeWord = (typeof outcomeWords)[number];

/** Synonyms that pipelines and agents use. */
export const outcomeSynonyms: Readonly<Record<string, OutcomeWord>> = {
  succeeded: 'success',
  pass: 'success',
  failed: 'fail',
  failure: 'fail',
  error: 'fail',
};

/** The canonical word for an outcome or its synonym, in any case (`Pass` → `success`); undefined for any other word. */
export function outcomeOf(word: string): OutcomeWord | undefined {
  const folded = word.trim().toLowerCase();
  const meant = Object.hasOwn(outcomeSynonyms, folded) ? outcomeSynonyms[folded] : folded;
  return outcomeWords.find((one) => one === meant);
}

/** The outcomes that an agent may answer. */
export const agentOutcomes = ['success', 'partial_success', 'retry', 'fail'] as const;
export type AgentOutcome = (typeof agentOutcomes)[number];

/** The outcome that a word of an agent means, undefined for any other word. */
export function agentOutcomeOf(word: string): AgentOutcome | undefined {
  const meant = outcomeOf(word);
  return agentOutcomes.find((one) => one === meant);
}

/** The cause of a failure. `product`: the software being built; `scenario`: the holdout scenario itself; `infra`:
 *  network, quota, machine; `config`: this pipeline or its flags; `agent`: an agent program or its answer; `stalled`: an
 *  agent that was stopped because it was silent or repeated itself; `internal`: a bug of factory; `budget`: a call that
 *  was not made because the rest of a limit is reserved for verification. */
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

/** Words of conditions for several classes, and other spellings of one. */
const classGroups: Readonly<Record<string, readonly FailureClass[]>> = {
  transient_infra: ['infra', 'timeout'],
  deterministic: ['product', 'config', 'agent', 'guardrail'],
  budget_exhausted: ['budget'],
  canceled: ['cancelled'],
};

/** The classes that such a word names, undefined for any other word. */
export const classesIn = (word: string): readonly FailureClass[] | undefined =>
  Object.hasOwn(classGroups, word) ? classGroups[word] : undefined;

/** The run's context: values that nodes pass to later nodes. Keys are dotted words. */
export type Context = { readonly [key: string]: Json };

/** The agent that answered, if a node names several agents or models. */
export type AnsweredBy = {
  readonly agent: string;
  readonly model?: string;
  /** The number of product failures by which the model was chosen, if the node names several. */
  readonly escalation?: number;
  /** Agents that were tried before and failed, in order. */
  readonly tried?: readonly {
    readonly agent: string;
    readonly class: FailureClass;
    readonly reason: string;
  }[];
};

/** What a node may report with any outcome. */
export type NodeReport = {
  readonly label: string;
  readonly suggested: readonly string[];
  readonly updates: JsonObject;
  readonly notes: string;
  /** The label is the word that it answered as its outcome. */
  readonly ownWord?: true;
  readonly by?: AnsweredBy;
  /** What an agent wanted to do and its permissions did not allow, in words. */
  readonly denied?: readonly string[];
};
export const emptyReport: NodeReport = { label: '', suggested: [], updates: {}, notes: '' };

export type Failure = {
  readonly status: 'fail';
  readonly reason: string;
  readonly class: FailureClass;
  /** True when the node broke (crash, timeout, no valid answer, bad configuration) instead of running to its end and
   *  reporting failure. A broken node leaves only by an edge whose condition is true. */
  readonly broke: boolean;
  /** The model's provider (api), or the answer of a single-turn call (output), is the cause: the run's exit code becomes 3
   *  or 4. */
  readonly model?: 'api' | 'output';
  /** The delay before a retry that the server asked for, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Why and until when the run may be suspended after the failed call. */
  readonly park?: Park;
  /** The agent could not be started (missing program, invalid setting), or the API refused it (key, model name, request).
   *  A retry would fail too, until the user fixes the cause. */
  readonly hopeless?: true;
  /** True when the node reported the class (`failure_class=…`); else it is derived from how the program ended. */
  readonly classSaid?: boolean;
  /** The exit code of the program that failed, when one ran to its end. */
  readonly exitCode?: number;
  /** How the class was determined, if a program failed. */
  readonly attribution?: Attribution;
  /** The command that failed. */
  readonly command?: string;
  /** True when the command runs a scenario: its failure is about the product. */
  readonly judge?: boolean;
  readonly rerun?: Rerun;
  /** The answer of a goal gate has no verdict: it is asked once more, whatever the retries. Never recorded. */
  readonly unsaid?: true;
};

export type Outcome = NodeReport &
  (
    | { readonly status: 'success' | 'partial_success' | 'skipped' }
    | { readonly status: 'retry'; readonly reason: string }
    | Failure
  );

export const succeeded = (report: Partial<NodeReport> = {}): Outcome => ({
  ...emptyReport,
  ...report,
  status: 'success',
});

export const failed = (
  reason: string,
  failureClass: FailureClass,
  more: Partial<NodeReport> & Partial<Omit<Failure, 'status' | 'reason' | 'class'>> = {},
): Outcome & Failure => ({
  ...emptyReport,
  broke: false,
  ...more,
  status: 'fail',
  reason,
  class: failureClass,
});

/** Exit codes of a shell whose command cannot be run, or is missing. */
export const notRunnable: readonly number[] = [126, 127];

/** Whether a command failed since a program or a script is missing or cannot be run, by evidence. */
export const missesProgram = (failure: {
  readonly attribution?: Attribution;
  readonly exitCode?: number | null;
}): boolean => failure.attribution?.how === 'evidence' || notRunnable.includes(failure.exitCode ?? 0);

/** A failure that every further attempt would meet: of the configuration, unless a command misses a program, which a later node may
 *  bring. */
export const isFinalConfig = (outcome: Outcome): boolean =>
  outcome.status === 'fail' && outcome.class === 'config' && !missesProgram(outcome);

/** What another outcome of the same attempt keeps of the first one. */
export const keptOfAttempt = ({ by, denied }: Outcome): Pick<Outcome, 'by' | 'denied'> => ({
  ...(by === undefined ? {} : { by }),
  ...(denied === undefined ? {} : { denied }),
});

/** The reason of the outcome, empty if there is none. */
export const reasonOf = (o: Outcome): string => (o.status === 'fail' || o.status === 'retry' ? o.reason : '');

/** The reason for a tool that a signal ended: it has no exit code. */
export const endedBySignal = 'tool_exit_code_-1';

/** A reason for people: names the signal, which the code does not. */
export const reasonWithAttribution = (reason: string, attribution: Attribution | undefined): string =>
  reason === endedBySignal && attribution?.how === 'evidence' ? `${reason} (${attribution.why})` : reason;

/* The class of a failure, and how it was determined. */

/** `said`: reported by the node itself; `evidence`: how its program ended, or what the scenario harness reported;
 *  `rerun`: it ran once more in a clean copy; `words`: a guess from its output; `default`: nothing points to another
 *  class. */
const attributionWays = ['said', 'evidence', 'rerun', 'words', 'default'] as const;

export const attributionSchema = once(() =>
  z.object({
    class: z.enum(failureClasses),
    how: z.enum(attributionWays),
    why: z.string().describe('The evidence, in words'),
  }),
);
export type Attribution = z.infer<ReturnType<typeof attributionSchema>>;

/** How a failed scenario ended when it was run once more in a clean copy of the workspace. */
export const rerunSchema = once(() =>
  z.object({
    result: z.enum(['passed', 'alike', 'differently']),
    first_exit_code: z.number().nullable(),
    exit_code: z.number().nullable().describe('Null if no program ran to its end'),
    failure_class: z.enum(failureClasses).nullable().describe('Of the second failure'),
    failure_reason: z.string(),
  }),
);
export type Rerun = z.infer<ReturnType<typeof rerunSchema>>;

/** How often a node has failed in the same way in a loop with an agent, without a relevant change of the workspace. */
export const alikeSchema = once(() =>
  z.object({
    signature: z.string().describe('SHA-256 of node, class, command and normalised message'),
    head: z.string().describe('The message, shortened'),
    count: z.int().positive(),
    visits: z.array(z.int().positive()).describe('The latest of them, ten at most'),
    step: z.int().describe('Number of the execution that was counted last, over the whole run'),
    after: z.string().describe('The workspace after that execution: the name of a snapshot'),
  }),
);
export type RepeatedFailure = z.infer<ReturnType<typeof alikeSchema>>;

/** Suspended runs: they wait for a quota, a provider that is down, a key, a paid bill, the next day of a cap or (a run that a node has
 *  started) the answer of a person, and can be resumed. */
export const parkKinds = ['quota', 'outage', 'auth', 'billing', 'answer', 'wait', 'cap'] as const;
export type ParkKind = (typeof parkKinds)[number];

/** Why a failed call suspends the run. `wakeAtMs`: when the quota is available again, in milliseconds since 1970.
 *  `within`: a run that the node started is suspended. `unsaid`: a rate limit of unknown length; it may end at once.
 *  `waitedMs`: what the agent itself has waited for the end of an outage. `held`: no call was made, since another one has met the
 *  limit. `untimed`: no wait helps, a person decides. */
export type Park = {
  readonly kind: ParkKind;
  readonly wakeAtMs?: number;
  readonly within?: true;
  readonly unsaid?: true;
  readonly waitedMs?: number;
  readonly held?: true;
  readonly untimed?: true;
};

/** What a wait before a repetition is for. */
export const waitCauses = ['rate_limit', 'outage', 'retry'] as const;
export type WaitCause = (typeof waitCauses)[number];

export const causeOfWait = (park: Park | undefined): WaitCause =>
  park?.kind === 'quota' ? 'rate_limit' : park?.kind === 'outage' ? 'outage' : 'retry';

/** Also a run whose disk is full is suspended, one that asks a person, and one at a node that waits; no call waits for those. */
export const pausedWords = [
  'paused_quota',
  'paused_outage',
  'paused_auth',
  'paused_billing',
  'paused_disk',
  'paused_answer',
  'paused_wait',
  'paused_cap',
] as const;
export type PausedWord = (typeof pausedWords)[number];

export const pausedBy = (kind: ParkKind): PausedWord => `paused_${kind}`;

export const isPaused = (status: string): status is PausedWord => pausedWords.some((word) => word === status);

export const parkedSchema = once(() =>
  z
    .object({
      status: z.enum(pausedWords),
      node: z.string().describe('The node that could not finish; a resume executes it again'),
      reason: z.string(),
      wake_at: z.string().nullable().describe('RFC 3339; null if waiting does not help'),
      since: z.string(),
      again: z.int().exactOptional().describe('How often it was resumed without any node finishing since'),
      windows: z
        .int()
        .positive()
        .exactOptional()
        .describe('Resets of a quota after which it was resumed without any node finishing since'),
    })
    .describe('Why and until when a run is suspended'),
);
export type SuspendedRun = z.infer<ReturnType<typeof parkedSchema>>;

const timed: readonly string[] = [pausedBy('quota'), pausedBy('outage'), pausedBy('wait'), pausedBy('cap')];

/** Whether waiting helps, so that `--wait` resumes the run. */
export const endsByTime = (status: string): boolean => timed.includes(status);
