/** A `tab` node asks for one answer, and changes nothing in the workspace. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readClaudeSettings } from '../../src/agents/claude-settings.ts';
import { readCodexSettings } from '../../src/agents/codex-settings.ts';
import { readOpenaiSettings } from '../../src/agents/openai/settings.ts';
import { graphOf } from '../support/graph.ts';
import { house } from '../support/house.ts';

const settingsOf = (attributes: string) => {
  const node = graphOf(`a [${attributes}]`).nodes.get('a');
  if (node === undefined) throw new Error('no node');
  return { settings: node.settings, workspace: '/w' };
};

test('what an agent writes in it is undone, and the node fails; an answer goes to its response file', async () => {
  await using it = await house({
    'p.dot': `digraph g { workdir="none"; agent_script="agent.json"; node [allowed_write_paths="docs/"]
      start [shape=Mdiamond]; done [shape=Msquare]; bad [shape=Msquare, outcome=fail]
      ask [shape=tab, prompt="What is it?", response_file="answer.md"]
      meddle [type=prompt, prompt="Look."]
      start -> ask -> meddle; meddle -> done [condition="outcome=success"]
      meddle -> bad [condition="failure_class=guardrail"] }`,
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: {
        ask: [{ text: 'A house.' }],
        meddle: [{ text: 'Done.', files: [{ path: 'docs/x.md', content: 'x' }] }],
      },
    }),
  });
  const ran = await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(it.json('.factory/runs/r1/result.json'), ran.err).toMatchObject({ exit_node: 'bad' });
  const workspace = join(it.path, '.factory/runs/r1/workspace');
  expect(existsSync(join(workspace, 'docs/x.md'))).toBe(false);
  expect(it.read('.factory/runs/r1/workspace/answer.md')).toBe('A house.');
});

test('a model gets no tools, and agent programs only read', () => {
  const tab = settingsOf(
    'shape=tab, codex.sandbox=workspace-write, codex.dangerous_bypass=true, claude.allowed_tools=Bash',
  );
  expect(readOpenaiSettings({ settings: tab.settings }).loop).toBeUndefined();
  expect(readCodexSettings(tab, { env: {} })).toMatchObject({
    settings: { sandbox: 'read-only', bypass: false },
  });
  expect(readClaudeSettings(tab, { env: {} })).toMatchObject({
    settings: {
      permissionMode: 'default',
      allowedTools: 'Read,Glob,Grep',
      disallowedTools: 'Bash,Edit,Write,NotebookEdit',
    },
  });
  const box = settingsOf('codex.sandbox=danger-full-access, agent.mode=agent');
  expect(readOpenaiSettings({ settings: box.settings }).loop).toBeDefined();
  expect(readCodexSettings(box, { env: {} })).toMatchObject({ settings: { sandbox: 'danger-full-access' } });
});
