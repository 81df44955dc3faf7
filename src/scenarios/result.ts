/** The results that one run of a scenario can have. */
import type { Exit } from '../core/contracts/process.ts';
import type { FloorState, Isolation } from '../core/records/result.ts';
import type { Strength } from '../core/records/strength.ts';
import { classify, ownLines, type Phase, type ScenarioClass, type ScenarioVerdict } from './classify.ts';
import type { NullProduct } from './floor/null-products.ts';
import type { PhaseHost } from './launch/product.ts';
import type { ScenarioNetwork } from './network.ts';
import type { PhaseEnd } from './phase.ts';
import { productStarts, type ScriptFile } from './starts.ts';

/** One run of one scenario. */
export type ScenarioExecution = Bare & {
  readonly evidence: Omit<ScenarioEvidence, 'rerun'>;
  /** Milliseconds of its live phase. */
  readonly liveMs: number;
};

/** Evidence that says how a scenario was separated from all else. */
type Environs = 'isolation' | 'isolation_note' | 'network' | 'network_note';

/** The same without the isolation and network that held. */
export type Bare = {
  readonly mode: 'selftest' | 'live';
  readonly outcome: Exclude<ScenarioOutcome, 'flaky'>;
  readonly verdict?: ScenarioVerdict;
  readonly evidence: Omit<ScenarioEvidence, 'rerun' | Environs>;
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly cancelled: boolean;
};

const nothing = { exit_code: null, signal: null, timeout: null, marker: null } as const;
const silent = { stdout: '', stderr: '' } as const;

export const passedScenario = (mode: 'selftest' | 'live', { stdout, stderr }: PhaseEnd): Bare => ({
  mode,
  outcome: 'pass',
  evidence: { ...nothing, phase: mode, exit_code: 0, why: 'exit code 0' },
  output: { stdout, stderr },
  cancelled: false,
});
export const skippedScenario = (mode: 'selftest' | 'live', why: string): Bare => ({
  mode,
  outcome: 'skipped',
  evidence: { ...nothing, phase: mode, why },
  output: silent,
  cancelled: false,
});
/** The scenario's files were changed: before it ran, or while it passed. The product may have rewritten it. */
export const meddled = (mode: 'selftest' | 'live', end?: PhaseEnd, changed: readonly string[] = []): Bare => {
  const when =
    end === undefined
      ? 'files of the scenario were changed after they were copied, before it was run'
      : `exit code 0, but files of the scenario were changed while it ran: ${changed.slice(0, 5).join(', ')}`;
  const why = `${when}. The product must leave them alone; what the scenario writes itself belongs in SCENARIO_TMP`;
  return {
    mode,
    outcome: 'broken',
    verdict: { class: 'scenario', why },
    evidence: { ...nothing, phase: mode, exit_code: end === undefined ? null : 0, why },
    output: end === undefined ? silent : { stdout: end.stdout, stderr: end.stderr },
    cancelled: false,
  };
};
/** Live could not be started. */
export const lacking = (why: string): Bare => ({
  mode: 'live',
  outcome: 'fail',
  verdict: { class: 'infra', why },
  evidence: { ...nothing, phase: 'live', why },
  output: silent,
  cancelled: false,
});

export function failedScenario(
  mode: 'selftest' | 'live',
  { ended, stdout, stderr, seen }: PhaseEnd,
  text = '',
): Bare {
  if (seen === undefined) throw new Error('Internal: a phase that passed has not failed');
  const verdict = classify({ ...seen, ownLines: ownLines(text, `${stderr}\n${stdout}`) });
  return {
    mode,
    outcome: verdict.class === 'scenario' ? 'broken' : 'fail',
    verdict,
    evidence: { ...endOf(ended), phase: seen.phase, marker: seen.marker ?? null, why: verdict.why },
    output: { stdout, stderr },
    cancelled: ended.kind === 'cancelled',
  };
}

const endOf = (ended: Exit) => ({
  exit_code: ended.kind === 'exited' ? ended.code : null,
  signal: ended.kind === 'signalled' ? ended.signal : null,
  timeout: ended.kind === 'timed_out' ? ended.afterMs : null,
});

/** It ended with exit code 0, which is no success. */
export const doubted = (
  mode: 'selftest' | 'live',
  { stdout, stderr }: PhaseEnd,
  verdict: ScenarioVerdict,
): Bare => ({
  mode,
  outcome: verdict.class === 'scenario' ? 'broken' : 'fail',
  verdict,
  evidence: { ...nothing, phase: mode, exit_code: 0, why: verdict.why },
  output: { stdout, stderr },
  cancelled: false,
});

const isolationNotes: Readonly<Record<Isolation, string>> = {
  launcher: 'product and scenario ran in separate sandboxes',
  phase:
    'each phase of the scenario had a separate sandbox, but the product was not started by APP_RUN, or not only',
  none: 'product and scenario shared one user',
};

/** The result with the isolation and network that held. */
export function isolated(
  judged: Bare,
  { sandbox, noSandbox }: Pick<PhaseHost, 'sandbox' | 'noSandbox'>,
  seen: {
    readonly network: ScenarioNetwork;
    readonly isLaunched: boolean;
    readonly files: readonly ScriptFile[];
    readonly liveMs?: number;
  },
): ScenarioExecution {
  const { network, isLaunched, files, liveMs = 0 } = seen;
  const isolation: Isolation =
    sandbox === undefined
      ? 'none'
      : isLaunched && files.every(({ name, text }) => productStarts(name, text).length === 0)
        ? 'launcher'
        : 'phase';
  const isolation_note =
    isolation === 'none' && noSandbox !== undefined
      ? `${isolationNotes.none}: ${noSandbox}`
      : isolationNotes[isolation];
  const environs = { isolation, isolation_note, network: network.held, network_note: network.note };
  return { ...judged, evidence: { ...judged.evidence, ...environs }, liveMs };
}

/* The result of a scenario, and the report of all. */

/** `pass`; `fail`: the product or its environment failed, see the class; `flaky`: it failed, but passed in a second clean copy;
 *  `broken`: the scenario itself failed; `skipped`: live was off. */
const scenarioOutcomes = ['pass', 'fail', 'flaky', 'broken', 'skipped'] as const;
export type ScenarioOutcome = (typeof scenarioOutcomes)[number];

/** The observations of the harness. */
type ScenarioEvidence = {
  readonly phase: Phase;
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** Milliseconds after which it was ended, if it timed out. */
  readonly timeout: number | null;
  /** The class that the script printed. */
  readonly marker: ScenarioClass | null;
  /** Why the outcome is what it is, as a sentence. */
  readonly why: string;
  /** `launcher`: the scenario started the product by APP_RUN only, in separate sandboxes. `phase`: each phase of the scenario had a
   *  separate sandbox, but the product was not started by APP_RUN, or not only. `none`: no sandbox. */
  readonly isolation: Isolation;
  /** What the isolation means, as a sentence. */
  readonly isolation_note: string;
  /** `private`: only the scenario's product shared its network. `machine`: it had that of this machine. */
  readonly network: 'private' | 'machine';
  /** Why it had that network, as a sentence. */
  readonly network_note: string;
  /** The second run, in a clean copy, if there was one. */
  readonly rerun: { readonly outcome: ScenarioOutcome; readonly exit_code: number | null } | null;
};

/** Every field is always set, for readers of the JSON. */
export type ScenarioResult = {
  readonly scenario: string;
  readonly mode: 'selftest' | 'live';
  readonly outcome: ScenarioOutcome;
  readonly failure_class: ScenarioClass | null;
  readonly evidence: ScenarioEvidence;
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
  /** Whether the suite could have failed; null if it has, or was not run live. */
  readonly floor: FloorReport | null;
  /** How many mutants of the product the suite notices; null where that was not asked for, or it has failed. */
  readonly strength: Strength | null;
};

export type FloorReport = {
  readonly state: FloorState;
  /** The same as a sentence, with the reason of a failure in front. */
  readonly why: string;
  /** `judge_accepts_nothing`: it accepts a product that does nothing. `work_not_asked_for`: all of it passed before the work. */
  readonly reason: 'judge_accepts_nothing' | 'work_not_asked_for' | null;
  /** The product that it accepts. */
  readonly accepted: NullProduct | null;
  /** Whether each product was shown to every scenario, not only until one rejected it. */
  readonly all: boolean;
  /** The scenarios that rejected each product; unless all were wanted, the first one. */
  readonly rejected_by: Partial<Readonly<Record<NullProduct, readonly string[]>>>;
  /** How many passed on the tree with which the run began; null if that is unknown or was empty. */
  readonly passed_before: number | null;
  readonly warnings: readonly string[];
};
