/** The result of a run's checks as the vetted predicate test-result v0.1 has it. Policies read it without knowing us: whatever is in
 *  doubt makes it FAILED or WARNED, never PASSED. */
import { testResultType } from './statement.ts';

/** What of a run the result is made of. */
export type RunChecks = {
  readonly pipeline: { readonly name: string; readonly sha256: string };
  readonly status: string;
  readonly commands: readonly CheckedCommand[];
  readonly judged:
    | {
        readonly passed: number;
        readonly total: number;
        /** Whether those that have not passed failed: else they were skipped. */
        readonly failed: boolean;
        /** Their result is of another run, or of another product. */
        readonly doubted: boolean;
      }
    | undefined;
  /** Whether something is in doubt that is no test: commands that are not listed, … */
  readonly doubts: boolean;
};

type CheckedCommand = {
  readonly command: string;
  readonly outcome: string;
  readonly exit_code: number | null;
  /** Its result is from the record of another run. */
  readonly replayed: boolean;
  /** Which files it has seen: `start`, those before anything was made, tests nothing of the product. */
  readonly files: 'attested' | 'others' | 'start';
};

const standings = ['passed', 'warned', 'failed'] as const;
type Standing = (typeof standings)[number];

/** The type and content of the statement; undefined where nothing was checked. */
export function testResultOf(run: RunChecks) {
  const commands = run.commands.filter((one) => one.files !== 'start' || commandStanding(one) === 'failed');
  if (commands.length === 0 && run.judged === undefined) return undefined;
  const tests = new Map<string, Standing>();
  const add = (name: string, is: Standing) => {
    // Of several executions of one command the worst counts.
    const before = tests.get(name) ?? 'passed';
    tests.set(name, standings.indexOf(is) > standings.indexOf(before) ? is : before);
  };
  for (const one of commands) add(one.command, commandStanding(one));
  const skipped = judgedTests(run.judged, add);
  const hasSucceeded = run.status === 'completed' || run.status === 'overridden';
  if (!hasSucceeded) add(`run: ${run.status}`, 'failed');
  const named = (is: Standing) => [...tests].flatMap(([name, standing]) => (standing === is ? [name] : []));
  const [passedTests, warnedTests, failedTests] = standings.map(named) as [string[], string[], string[]];
  const warns = warnedTests.length > 0 || skipped || run.doubts || run.status === 'overridden';
  const result = failedTests.length > 0 ? 'FAILED' : warns ? 'WARNED' : 'PASSED';
  const { name, sha256 } = run.pipeline;
  const configuration = [{ name, digest: { sha256 } }];
  return {
    predicateType: testResultType,
    predicate: { result, configuration, passedTests, warnedTests, failedTests },
  };
}

function commandStanding({ outcome, exit_code, replayed, files }: CheckedCommand): Standing {
  if (exit_code !== 0 || (outcome !== 'success' && outcome !== 'partial_success')) return 'failed';
  return replayed || files === 'others' || outcome === 'partial_success' ? 'warned' : 'passed';
}

/** Adds the scenarios, by number: their names are the holdout's. Answers whether some were skipped. */
function judgedTests(judged: RunChecks['judged'], add: (name: string, is: Standing) => void): boolean {
  if (judged === undefined) return false;
  const { passed, total, failed, doubted } = judged;
  for (let n = 1; n <= total; n++)
    if (n <= passed) add(`scenario ${n} of ${total}`, doubted ? 'warned' : 'passed');
    else if (failed) add(`scenario ${n} of ${total}`, 'failed');
  return passed < total && !failed;
}

/** Whether something was found, or is not listed, that keeps a run without a failed test from PASSED. */
export const hasDoubts = ({
  audit,
  evidence: { more_commands: more, outdated = [], judged },
  proof,
}: {
  readonly audit?: { readonly errors: number } | undefined;
  readonly evidence: {
    readonly more_commands: number;
    readonly outdated?: readonly unknown[] | undefined;
    readonly judged?: { readonly floor?: string } | undefined;
  };
  /** The files that were verified in a clean checkout, if that was done. */
  readonly proof?: 'attested' | 'others' | undefined;
}): boolean =>
  more > 0 ||
  outdated.length > 0 ||
  judged?.floor === 'failed' ||
  (audit?.errors ?? 0) > 0 ||
  proof === 'others';
