/** Runs with a stylesheet: who is asked, and for which model. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { startModelServer } from '../support/model-server.ts';

const answer = `{"outcome":"success","preferred_next_label":"","suggested_next_ids":[],"context_updates":{},"verification_plan":null,"notes":"","failure_reason":""}`;
/** Programs that note their arguments. */
const programs = {
  codex: `printf '%s\\n' "$@" >> "$FACTORY_WORKSPACE/codex.txt"
prev=; for word in "$@"; do case "$prev" in -o) out=$word ;; esac; prev=$word; done; cat > /dev/null; printf '%s' '${answer}' > "$out"`,
  claude: `printf '%s\\n' "$@" >> "$FACTORY_WORKSPACE/claude.txt"; cat > /dev/null
printf '%s\\n' '{"type":"result","subtype":"success","is_error":false,"result":"","structured_output":${answer}}'`,
};

const pipeline = (sheet: string) => `digraph t { workdir=none; model_stylesheet="${sheet}"
  start [shape=Mdiamond]; done [shape=Msquare]; start -> a -> b -> done; a [prompt=a, class=hard]; b [prompt=b] }`;

async function ran(sheet: string, env: Readonly<Record<string, string>>, flags = {}) {
  const said = { type: 'message', content: [{ type: 'output_text', text: '{"outcome":"success"}' }] };
  const response = { status: 'completed', model: 'gpt-5.2', usage: {}, output: [said] };
  const server = await startModelServer([{ events: [{ type: 'response.completed', response }] }]);
  const it = await house({ 'p.dot': pipeline(sheet) });
  mkdirSync(join(it.path, 'bin'));
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(it.path, 'bin', name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(it.path, 'bin', name), 0o755);
  }
  it.environment({
    ...{ PATH: `${join(it.path, 'bin')}:${process.env['PATH']}`, FACTORY_SANDBOX: 'none' },
    ...(env['OPENAI_API_KEY'] === undefined ? {} : { OPENAI_BASE_URL: server.url }),
    ...env,
  });
  const told = await it.run('p.dot', { runId: 'r1', json: true, ...flags });
  const text = (file: string): string => {
    try {
      return readFileSync(join(it.path, '.factory/runs/r1/workspace', file), 'utf8');
    } catch {
      return '';
    }
  };
  return {
    ...{ it, server, told, codex: text('codex.txt'), claude: text('claude.txt') },
    models: server.requests.map(({ body }) => (body as { model?: string }).model),
    manifest: it.json('.factory/runs/r1/manifest.json'),
    async [Symbol.asyncDispose]() {
      await server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

const two =
  '* { model: claude-sonnet-4-5; provider: anthropic; } .hard { model: gpt-5.2-codex; provider: openai; reasoning_effort: high; }';

test('each node is asked of the agent of its provider, with its model', async () => {
  await using run = await ran(two, {});
  expect(run.told.code, run.told.err).toBe(0);
  expect(run.codex).toMatch(/-m\ngpt-5\.2-codex\n/);
  expect(run.codex).toContain('model_reasoning_effort="high"');
  expect(run.claude).toMatch(/--model\nclaude-sonnet-4-5\n/);
  expect(run.codex + run.claude).not.toMatch(/claude-[\s\S]*-m\nclaude|--model\ngpt/);
  expect(run.manifest.agent.by_provider).toEqual({ anthropic: 'claude', openai: 'codex' });
  expect(run.told.err).not.toContain('its own default model');
});

test('an agent without the models of a provider uses its own default model, and the log says it once', async () => {
  await using run = await ran('* { model: claude-sonnet-4-5; provider: anthropic; }', {}, { agent: 'codex' });
  expect(run.told.code, run.told.err).toBe(0);
  expect(run.codex).not.toContain('claude');
  expect(run.codex.match(/^exec$/gm)).toHaveLength(2);
  expect(run.told.err.match(/codex has no models of anthropic: its own default model is used/g)).toHaveLength(
    1,
  );
  expect(run.manifest.agent.describe).not.toContain('sonnet');
});

test('a sheet written for another provider sends none of its names to the model server', async () => {
  const key = { OPENAI_API_KEY: 'sk-sheet-0123456789', FACTORY_MODEL: 'mine' };
  await using run = await ran('* { model: gemini-3-pro; } #b { model: own-name; }', key);
  expect(run.models).toEqual(['mine', 'own-name']);
});

test('an agent that a provider chooses gets no model of another one from FACTORY_MODEL', async () => {
  await using run = await ran('* { provider: anthropic; }', { FACTORY_MODEL: 'gpt-5' });
  expect(run.told.code, run.told.err).toBe(0);
  expect(run.claude).not.toContain('gpt-5');
  expect(run.told.err.match(/claude has no models of openai: its own default model is used/g)).toHaveLength(
    1,
  );
});

test('a resume keeps the agents that the providers have chosen, whatever can work there then', async () => {
  await using run = await ran(two, { FACTORY_MODEL: 'gpt-5' }, { maxSteps: '2' });
  expect(run.told.code).toBe(1);
  run.it.environment({
    ...{ PATH: `${join(run.it.path, 'bin')}:${process.env['PATH']}`, FACTORY_SANDBOX: 'none' },
    ...{ OPENAI_API_KEY: 'sk-sheet-0123456789', OPENAI_BASE_URL: run.server.url },
  });
  const resumed = await run.it.resume('r1', { maxSteps: '20' });
  expect(resumed.code, resumed.err).toBe(0);
  expect(run.server.requests).toEqual([]);
  const claude = run.it.read('.factory/runs/r1/workspace/claude.txt');
  expect(claude).toMatch(/--model\nclaude-sonnet-4-5\n/);
});
