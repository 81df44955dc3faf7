import { expect, test } from 'vitest';
import { painter, summary } from '../../src/commands/print.ts';
import { RunResult } from '../../src/model/result.ts';

const ended = (proof?: readonly string[] | null): RunResult =>
  RunResult.parse({
    schema_version: 1,
    run_id: 'R',
    status: 'completed',
    exit_code: 0,
    exit_node: 'exit',
    reason: '',
    failed_node: null,
    failure_class: null,
    failure_output: '',
    agent: 'a',
    stages: 3,
    failed_stages: 0,
    retries: 0,
    elapsed_ms: 1,
    commits: [],
    ...(proof === undefined ? {} : { proof }),
    run_dir: 'd',
    workspace: 'w',
    next: '',
  });

test.for([
  [['npm test'], /proof +npm test/],
  [[], /proof +nothing could be run/],
] as const)('the summary says what the proof ran: %j', ([proof, says]) => {
  expect(summary(ended(proof), painter(false))).toMatch(says);
});

test.for([[null], [undefined]])('a run without a proof says nothing of one (%s)', ([proof]) => {
  expect(summary(ended(proof), painter(false))).not.toContain('proof');
});
