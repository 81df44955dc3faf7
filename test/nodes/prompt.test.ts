import { expect, test } from 'vitest';
import { withAllowlist, withFeedback } from '../../src/nodes/prompt.ts';
import { graphOf } from '../support/graph.ts';

test('a prompt is unchanged without a failure', () => {
  expect(withFeedback('Do it.\n', {})).toBe('Do it.\n');
  expect(withFeedback('Do it.', { 'last_failure.summary': '  ' })).toBe('Do it.');
});

test('the last failure follows the prompt', () => {
  const prompt = withFeedback('Do it.\n\n', {
    'last_failure.node_id': 'check',
    'last_failure.reason': 'tool_exit_code_1',
    'last_failure.summary': 'stderr: boom',
  });
  expect(prompt).toMatchInlineSnapshot(`
    "Do it.

    Failure feedback (from the stage that failed last):
    - failed_node: check
    - failure_reason: tool_exit_code_1
    - details:
    stderr: boom"
  `);
});

test.for([
  [
    'its own list, in order and without repeats',
    'a ["verification.allowed_commands"="b,a,b"]; v [type=verification, "verification.allowed_commands"="c"]; a -> v',
    ['b', 'a'],
  ],
  [
    'the sorted union of what verification nodes allow',
    'a; m; v [type=verification, "verification.allowed_commands"="go vet,go test"]; w [type=verification, "verification.allowed_commands"="gofmt"]; a -> m -> v; a -> w',
    ['go test', 'go vet', 'gofmt'],
  ],
  [
    'nothing beyond the first verification node',
    'a; v [type=verification, "verification.allowed_commands"="x"]; w [type=verification, "verification.allowed_commands"="y"]; a -> v -> w',
    ['x'],
  ],
  [
    'nothing of a plan that a tool decides',
    'a; v [type=verification, "verification.allowed_commands"="@plan"]; a -> v',
    [],
  ],
  ['nothing where a cycle leads back', 'a; m; a -> m -> a', []],
] as const)('the prompt lists %s', ([, body, wanted]) => {
  const graph = graphOf(body);
  const node = graph.nodes.get('a');
  if (node === undefined) throw new Error('no node a');
  const prompt = withAllowlist('Do it.', graph, node);
  expect([...prompt.matchAll(/^- (.*)$/gm)].map((found) => found[1])).toEqual(wanted);
  if (wanted.length === 0) expect(prompt).toBe('Do it.');
});
