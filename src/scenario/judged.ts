/** The results that one run of a scenario can have. */
import type { Exit } from '../system/spawn.ts';
import { classify, ownLines, type Verdict } from './classify.ts';
import type { PhaseEnd } from './phase.ts';
import type { Evidence, Isolation, ScenarioOutcome } from './result.ts';

/** One run of one scenario. */
export type Judged = Bare & { readonly evidence: Omit<Evidence, 'rerun'> };

/** The same without the isolation that held. */
export type Bare = {
  readonly mode: 'selftest' | 'live';
  readonly outcome: Exclude<ScenarioOutcome, 'flaky'>;
  readonly verdict?: Verdict;
  readonly evidence: Omit<Evidence, 'rerun' | 'isolation' | 'isolation_note'>;
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly cancelled: boolean;
};

const nothing = { exit_code: null, signal: null, timeout: null, marker: null } as const;
const silent = { stdout: '', stderr: '' } as const;

export const passed = (mode: 'selftest' | 'live', { stdout, stderr }: PhaseEnd): Bare => ({
  mode,
  outcome: 'pass',
  evidence: { ...nothing, phase: mode, exit_code: 0, why: 'exit code 0' },
  output: { stdout, stderr },
  cancelled: false,
});
export const skipped = (mode: 'selftest' | 'live', why: string): Bare => ({
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

export function failed(
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
export const doubted = (mode: 'selftest' | 'live', { stdout, stderr }: PhaseEnd, verdict: Verdict): Bare => ({
  mode,
  outcome: verdict.class === 'scenario' ? 'broken' : 'fail',
  verdict,
  evidence: { ...nothing, phase: mode, exit_code: 0, why: verdict.why },
  output: { stdout, stderr },
  cancelled: false,
});

export const isolationNotes: Readonly<Record<Isolation, string>> = {
  launcher: 'product and scenario ran in separate sandboxes',
  phase:
    'each phase of the scenario had a separate sandbox, but the product was not started by APP_RUN, or not only',
  none: 'product and scenario shared one user',
};
