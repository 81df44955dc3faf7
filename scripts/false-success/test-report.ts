/** The results in the form of vitest's JSON report, which `.ci/run` counts. */
import type { JudgedCase } from './kinds.ts';

/** A case fails where it is broken, or false without a note. What a plain loop accepts is no mistake of this project. */
export function testReport(judged: readonly JudgedCase[]) {
  const assertionResults = judged.map((one) => {
    const problem = problemOf(one);
    return {
      fullName: `${one.row.id} (${one.setting}): ${one.row.kind}`,
      status: problem === undefined ? 'passed' : 'failed',
      failureMessages: problem === undefined ? [] : [problem],
    };
  });
  const numFailedTests = assertionResults.filter(({ status }) => status === 'failed').length;
  const success = numFailedTests === 0;
  return {
    numPassedTests: assertionResults.length - numFailedTests,
    numFailedTests,
    numFailedTestSuites: success ? 0 : 1,
    success,
    testResults: [{ name: 'false-success', status: success ? 'passed' : 'failed', assertionResults }],
  };
}

function problemOf({ row, setting, verdict }: JudgedCase): string | undefined {
  if (verdict.state === 'broken') return verdict.why;
  if (verdict.state !== 'false' || setting === 'plain' || row.note !== undefined) return undefined;
  return row.family === 'honest'
    ? `false alarm: ${verdict.guard?.name}: ${verdict.guard?.message}`
    : 'false success: a wrong product was accepted, and the table has no note about it';
}
