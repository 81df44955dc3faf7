/** A run with holdout scenarios: a workdir, a pipeline of one agent and a tool, prepared answers. */

export const judge = `#!/bin/sh
set -eu
# canary: zx81-blue-heron
if ! grep -q "kittiwake berthed at quay 4821" out.txt; then
  echo "FAIL: the kittiwake must lie at the far quay" >&2
  exit 1
fi
printf 'gannet 17 draught 2.5 and the northern basin\\n' > "$HOME/ledger.txt"
test "$(wc -l < out.txt)" -eq 2 || { echo "gannet counted twice" >&2; exit 1; }
`;
export const line = 'if ! grep -q "kittiwake berthed at quay 4821" out.txt; then';
export const five = judge.split('\n').slice(4, 9).join('\n');

export const base = {
  'w/src/app.py': 'print("hello")\n',
  'w/tests/test_app.py':
    'from app import level\n\n\ndef test_level():\n    assert level(2) == 5\n    assert level(3) == 7\n',
  'w/scripts/scenarios/judge.sh': judge,
  'spec.md': '# Harbour\n\nTells where ships lie.\n',
};

/** A pipeline of one agent and the nodes after it. */
export const pipeline = (
  more: { graph?: string; agent?: string; prompt?: string; tool?: string } = {},
) => `digraph g {
  holdout="scripts/scenarios/"
  agent_script="agent.json"
  vars="spec=@spec.md"
  ${more.graph ?? ''}
  start [shape=Mdiamond] exit [shape=Msquare]
  work [shape=box, agent.backend=scripted, prompt="${more.prompt ?? 'Do it'}", ${more.agent ?? ''} max_retries=0, max_visits=9]
  tool [shape=parallelogram, tool_command="${more.tool ?? 'true'}"]
  start -> work -> tool
  tool -> exit [condition="outcome=success"]
  tool -> work [condition="outcome=fail"]
}`;

export const script = (...answers: object[]) =>
  JSON.stringify({ format: 'factory-script/1', answers: { work: answers } });
export const done = (more: object = {}, files: object[] = []) => ({
  finished: { outcome: 'success', ...more },
  ...(files.length === 0 ? {} : { files }),
});
export const wrote = (path: string, content: string) => done({}, [{ path, content }]);
export const inDot = (text: string) =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('$', '$$');
