/** What a request may set in a fork: what a node does, never what it may reach. */
import { expect, test } from 'vitest';
import { kinds } from '../../src/app/kinds.ts';
import { isOfferedToForks } from '../../src/core/settings/forks.ts';
import { forkBodySchema } from '../../src/web/contract.ts';

const accepts = (name: string) => forkBodySchema().safeParse({ at: 'a', set: { [name]: 'x' } }).success;

test.for([
  ...['a.prompt', 'a.tool_command', 'a.command', 'a.llm_model', 'a.model', 'a.command.run', 'a.b.prompt'],
  ...['check.timeout', 'check.max_cost_usd', 'ask.human.timeout'],
])('%s is accepted', (name) => expect(accepts(name)).toBe(true));

test.for([
  ...['a.env_pass', 'a.sandbox', 'a.sandbox_bind', 'a.network', 'a.access', 'a.sees_holdout', 'a.isolation'],
  ...[
    'a.codex.allow_read_scenarios',
    'a.openai.allow_read_scenarios',
    'a.codex.env_keys',
    'a.command.env_keys',
  ],
  ...['a.acp.home', 'a.acp.permissions', 'a.acp.env_keys'],
  ...['a.command.home', 'a.codex.path', 'a.codex.add_dirs', 'a.codex.sandbox', 'a.codex.dangerous_bypass'],
  ...['a.codex.config_overrides', 'a.claude.args', 'a.claude.settings', 'a.claude.permission_mode'],
  ...['a.type', 'a.node_type', 'a.shape', 'a.sets_plan', 'a.verification.may_change', 'a.response_schema'],
  ...['a.read_scope', 'a.prompt.sandbox', 'prompt', 'a.'],
])('%s is refused', (name) => expect(accepts(name)).toBe(false));

test('what is offered of a node is an attribute of some type, and can be set', () => {
  const names = new Set(kinds.flatMap(({ attributes }) => Object.keys(attributes)));
  const offered = [...names].filter(isOfferedToForks);
  expect(offered.filter((name) => !accepts(`a.${name}`))).toEqual([]);
  expect(offered).toEqual(expect.arrayContaining(['prompt', 'tool_command', 'question', 'for_each']));
  expect([...names].filter((name) => accepts(`a.${name}`) && !isOfferedToForks(name))).toEqual([]);
});
