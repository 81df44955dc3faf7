/** Setup commands of a project (`factory.json`) in whole runs. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/core/sha256.ts';
import { noBwrap } from '../platform/sandbox/machine.ts';
import { house } from '../support/house.ts';
import type { Flags } from '../support/verb.ts';

const run = '.factory/runs/r1';
const options = { runId: 'r1', workdir: 'w', agent: 'fake' };
const pipeline = (body: string) =>
  `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]; node [shape=parallelogram] ${body} }`;
const installs = (more = '') => ({
  'w/factory.json': JSON.stringify({ setup: ['sh install.sh'] }),
  'w/install.sh': `set -e; ${more} mkdir -p deps; cp yarn.lock deps/installed; echo installed; echo '{"outcome":"fail"}' > "$FACTORY_OUTPUT"\n`,
  'w/yarn.lock': 'one\n',
});
const setups = (lines: readonly Record<string, unknown>[]): readonly Record<string, unknown>[] =>
  lines.flatMap(({ type, node, setup }) =>
    type === 'Visit' && setup !== undefined ? [{ node, ...(setup as Record<string, unknown>) }] : [],
  );

const changing = pipeline(`
  a [tool_command="grep one deps/installed", allowed_write_paths="none"]
  b [tool_command="echo two > yarn.lock; echo '{\\"setup\\":[\\"touch stolen\\"]}' > factory.json"]
  c [tool_command="grep two deps/installed && test ! -e stolen"]
  d [tool_command="true"]
  start -> a -> b -> c -> d -> exit`);

test('setup runs before the first node, and again when a lock file has changed; the workspace says nothing of it', async () => {
  await using it = await house({ 'p.dot': changing, ...installs() });
  const ended = await it.run('p.dot', options);
  expect(ended.code, ended.err).toBe(0);
  const ran = setups(it.records(`${run}/journal.jsonl`));
  expect(ran).toMatchObject([
    { node: 'a', commands: [{ argv: ['sh', '-c', 'sh install.sh'], exit_code: 0 }] },
    { node: 'c', locks: ['yarn.lock'], commands: [{ exit_code: 0 }] },
  ]);
  expect(ran[0]).not.toHaveProperty('locks');
  expect(readFileSync(join(it.path, run, 'a/setup.0.stdout.txt'), 'utf8')).toBe('installed\n');
  expect(it.json(`${run}/manifest.json`).setup).toMatchObject({
    path: join(it.path, 'w/factory.json'),
    commands: ['sh install.sh'],
  });
  const shown = await it.verb(['show', 'r1', 'c']);
  expect(shown.out).toMatch(/commands +setup: sh install\.sh\n +grep two/);
  const verified = await it.verb(['verify', 'r1']);
  expect(verified.code, verified.out).toBe(0);
  const changed = async (flags: Flags) =>
    (await it.verb(['diff', 'r1'], { names: true, ...flags })).out.match(/\S+$/gm);
  // The second setup has installed another version.
  expect(await changed({})).toEqual(['deps/installed', 'factory.json', 'yarn.lock']);
  expect(await changed({ to: 'a' })).toBeNull();
  expect(await changed({ from: 'start', to: 'a' })).toEqual(['deps', 'deps/installed']);
});

test('a failing setup ends the run as a wrong configuration; with accepted changes a resume uses the mended one', async () => {
  await using it = await house({ 'p.dot': changing, ...installs('echo no such package >&2; exit 7;') });
  const ended = await it.run('p.dot', options);
  expect(ended.code).toBe(1);
  const status = it.json(`${run}/a/status.json`);
  expect(status).toMatchObject({ failure_class: 'config' });
  expect(status.failure_reason).toMatch(
    /^setup: "sh install.sh" of .*factory\.json ended with exit code 7:\nno such package/,
  );
  writeFileSync(
    join(it.path, 'w/factory.json'),
    JSON.stringify({ setup: ['mkdir deps; cp yarn.lock deps/installed'] }),
  );
  const refused = await it.resume('r1', {});
  expect(refused.code).toBe(2);
  expect(refused.err).toContain('the setup commands of');
  const mended = await it.resume('r1', { acceptChanges: true });
  expect(mended.err).toContain('node completed');
  expect(setups(it.records(`${run}/journal.jsonl`))).toMatchObject([
    { node: 'a', commands: [{ exit_code: 7 }] },
    {
      node: 'a',
      commands: [{ argv: ['sh', '-c', 'mkdir deps; cp yarn.lock deps/installed'], exit_code: 0 }],
    },
    { node: 'c' },
  ]);
  const verified = await it.verb(['verify', 'r1']);
  expect(verified.code, verified.out).toBe(0);
});

test('a lock file that a node has broken is a failure of the product, which an agent can mend', async () => {
  await using it = await house({
    'p.dot': pipeline(`
      a [tool_command="echo broken > yarn.lock"]
      c [tool_command="grep two deps/installed"]
      fix [shape=box, prompt="repair it"]
      start -> a -> c; c -> exit [condition="outcome=success"]; c -> fix [condition="failure_class=product"]; fix -> c`),
    ...installs('rm -rf deps; if grep -q broken yarn.lock; then echo unknown package >&2; exit 3; fi;'),
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: {
        fix: [{ finished: { outcome: 'success' }, files: [{ path: 'yarn.lock', content: 'two\n' }] }],
      },
    }),
  });
  const ended = await it.run('p.dot', { ...options, agent: 'scripted', script: 'agent.json' });
  expect(ended.code, ended.err).toBe(0);
  expect(it.json(`${run}/c/visits/1/status.json`)).toMatchObject({ failure_class: 'product' });
  const ran = setups(it.records(`${run}/journal.jsonl`));
  expect(ran.map(({ node }) => node)).toEqual(['a', 'c', 'c']);
  // The failed one has left nothing: the agent began with what was installed before.
  const visits = it.records(`${run}/journal.jsonl`).filter(({ type }) => type === 'Visit');
  const at = (node: string) => visits.filter((one) => one['node'] === node);
  expect(at('fix')[0]?.['before']).toBe(at('a')[0]?.['after']);
});

test('a tool with needs_setup=false repairs a lock file; any other one waits for the setup', async () => {
  const tools = (attributes: string) => ({
    'p.dot': pipeline(`
      a [tool_command="echo broken > yarn.lock"]
      c [tool_command="grep two deps/installed"]
      fix [tool_command="echo two > yarn.lock" ${attributes}]
      bad [shape=Msquare, outcome=fail]
      start -> a -> c; c -> exit [condition="outcome=success"]; c -> fix [condition="failure_class=product"];
      fix -> c [condition="outcome=success"]; fix -> bad [condition="outcome=fail"]`),
    ...installs('rm -rf deps; if grep -q broken yarn.lock; then echo unknown package >&2; exit 3; fi;'),
  });
  await using it = await house(tools(', needs_setup=false'));
  const ended = await it.run('p.dot', options);
  expect(ended.code, ended.err).toBe(0);
  expect(setups(it.records(`${run}/journal.jsonl`)).map(({ node }) => node)).toEqual(['a', 'c', 'c']);
  await using other = await house(tools(''));
  const failed = await other.run('p.dot', options);
  expect(failed.code).toBe(1);
  expect(failed.err).toContain('changed since the last time: yarn.lock');
  expect(failed.err).toContain('a tool with needs_setup=false');
});

test('where the setup has ended a run at an exit, why names factory.json, and a fork uses the fixed commands', async () => {
  await using it = await house({
    'p.dot': pipeline(`
      a [tool_command="grep one deps/installed"]
      bad [shape=Msquare, outcome=fail]
      start -> a; a -> exit [condition="outcome=success"]; a -> bad [condition="outcome=fail"]`),
    ...installs('echo no such package >&2; exit 7;'),
  });
  expect((await it.run('p.dot', options)).code).toBe(1);
  const why = await it.verb(['why', 'r1']);
  expect(why.out).toContain(
    `Fix "setup" in ${join(it.path, 'w/factory.json')}, then execute a again in a fork`,
  );
  expect(why.out).toContain('fork r1 --at a --before --accept-changes # after fixing "setup" in');
  const fixed = { setup: ['mkdir deps; cp yarn.lock deps/installed'] };
  writeFileSync(join(it.path, 'w/factory.json'), JSON.stringify(fixed));
  const kept = await it.fork('r1', { at: 'a', before: true, runId: 'r2' });
  expect(kept.code, 'without the flag a fork keeps the commands').toBe(1);
  const forked = await it.fork('r1', { at: 'a', before: true, runId: 'r3', acceptChanges: true });
  expect(forked.code, forked.err).toBe(0);
  expect(it.json('.factory/runs/r2/manifest.json').forked_from.changed).toEqual([]);
  expect(it.json('.factory/runs/r3/manifest.json')).toMatchObject({
    setup: { commands: fixed.setup },
    forked_from: { changed: ['setup'] },
  });
  expect((await it.verb(['verify', 'r3'])).code).toBe(0);
});

test.each([
  ['file', '{}'],
  ['workdir', undefined],
])('accepted changes count where the %s has no setup any more: none runs', async (_, text) => {
  await using it = await house({ 'p.dot': changing, ...installs('exit 7;') });
  expect((await it.run('p.dot', options)).code).toBe(1);
  const file = join(it.path, 'w/factory.json');
  if (text === undefined) rmSync(file);
  else writeFileSync(file, text);
  const resumed = await it.resume('r1', { acceptChanges: true });
  expect(resumed.err).not.toContain('exit code 7');
  expect(it.json(`${run}/manifest.json`)).not.toHaveProperty('setup');
  expect(setups(it.records(`${run}/journal.jsonl`))).toMatchObject([{ node: 'a' }]);
  expect((await it.verb(['verify', 'r1'])).code).toBe(0);
});

test('accepted changes of a workdir that is gone leave the setup as it was, also in a fork', async () => {
  await using it = await house({ 'p.dot': changing, ...installs('exit 7;') });
  expect((await it.run('p.dot', options)).code).toBe(1);
  renameSync(join(it.path, 'w'), join(it.path, 'elsewhere'));
  const { setup } = it.json(`${run}/manifest.json`);
  await it.fork('r1', { at: 'a', before: true, runId: 'r2', acceptChanges: true });
  await it.resume('r1', { acceptChanges: true });
  for (const id of ['r1', 'r2'])
    expect(it.json(`.factory/runs/${id}/manifest.json`).setup, id).toEqual(setup);
});

test('validate and simulate say which commands a run executes first, and validate refuses those that a run would', async () => {
  await using it = await house({
    'p.dot': pipeline(`
      made [tool_command="true", needs_setup=false]; a [tool_command="true"]
      start -> made -> a -> exit`).replace('digraph g {', 'digraph g { workdir="w"'),
    'none.dot': pipeline('a [tool_command="true"]; start -> a -> exit'),
    ...installs(),
  });
  const path = join(it.path, 'w/factory.json');
  expect((await it.verb(['validate', 'p.dot'])).out).toContain(
    `  setup before the first node: sh install.sh (${path})\n`,
  );
  expect((await it.verb(['validate', 'none.dot'])).out).not.toContain('setup');
  const report = JSON.parse((await it.verb(['validate', 'p.dot'], { json: true })).out);
  expect(report.files[0].setup).toEqual({ path, commands: ['sh install.sh'] });
  expect((await it.verb(['simulate', 'p.dot'])).out).toContain(
    `setup before a, and again when a lock file has changed: sh install.sh (${path})\n`,
  );
  const steps = JSON.parse((await it.verb(['simulate', 'p.dot'], { json: true })).out);
  expect(steps.setup).toEqual({ path, commands: ['sh install.sh'], before: 'a' });
  writeFileSync(path, JSON.stringify({ setup: ['cp ../x .'] }));
  const refused = await it.verb(['validate', 'p.dot']);
  expect(refused.code).toBe(2);
  expect(refused.err).toContain('"setup" has a command that is rejected by guardrail');
});

test.skipIf(noBwrap)(
  'a setup that has no network names the setting of the graph, not one of the node',
  async () => {
    await using it = await house({
      'p.dot': pipeline('graph [network=off]; a [tool_command="true", network=on]; start -> a -> exit'),
      'w/factory.json': JSON.stringify({ setup: ['echo getaddrinfo EAI_AGAIN registry >&2; exit 1'] }),
    });
    const { err } = await it.run('p.dot', { ...options, sandbox: 'bwrap' });
    expect(err).toContain('the network is off: set network=on on the graph');
  },
);

test('what a changed lock file has installed is there for the next attempt and for the next order', async () => {
  const empty = sha256('');
  const order = (id: string, file: string) => ({
    ...{ id, title: `Make ${file}`, intent: 'x', preconditions: [], forbidden: [], notes: null },
    postconditions: [{ kind: 'file_exists', path: file }],
    ...{ allowed_files: [file, 'yarn.lock'], context_files: [file] },
    acceptance_commands: ['grep -q two deps/installed', `grep -q right ${file}`],
  });
  const wrote = (path: string, content: string) => ({ path, base_sha256: empty, content });
  const lock = { path: 'yarn.lock', base_sha256: sha256('one\n'), content: 'two\n' };
  const answer = (...writes: object[]) => ({ json: { summary: 'x', writes } });
  await using it = await house({
    'w/factory.json': JSON.stringify({
      setup: ['mkdir -p deps; cp yarn.lock deps/installed; echo setup > open'],
    }),
    'w/yarn.lock': 'one\n',
    'w/.gitignore': 'deps/\n',
    'plan.json': JSON.stringify({
      system_overview: ['small'],
      verify_contract: { command: 'true', requires: [{ kind: 'file_exists', path: 'a.txt' }] },
      work_orders: [order('WO-01', 'a.txt'), order('WO-02', 'b.txt')],
    }),
    's.json': JSON.stringify({
      format: 'factory-script/1',
      answers: {
        propose: [
          answer(wrote('a.txt', 'wrong\n'), lock),
          answer(wrote('a.txt', 'right\n'), lock),
          answer(wrote('b.txt', 'right\n')),
        ],
      },
    }),
  });
  const flags = { ...options, agent: 'scripted', script: 's.json', var: ['plan=plan.json'] };
  const ended = await it.run('build', flags);
  expect(ended.code, ended.err).toBe(0);
  const ran = setups(it.records(`${run}/journal.jsonl`)).map(({ node, locks }) => [node, locks]);
  // The first attempt is undone, with what was installed for it; the commit keeps what was installed for the second.
  expect(ran).toEqual([
    ['next', undefined],
    ['verify', ['yarn.lock']],
    ['verify', []],
  ]);
  expect(readFileSync(join(it.path, run, 'workspace/deps/installed'), 'utf8')).toBe('two\n');
  expect((await it.verb(['verify', 'r1'])).code).toBe(0);
});

test('a replay uses what the setup left, and a branch has its own', async () => {
  await using it = await house({
    'p.dot': pipeline(`
      both [shape=component]; met [shape=tripleoctagon]
      x [tool_command="echo x > yarn.lock"]; x2 [tool_command="grep x deps/installed"]
      y [tool_command="grep one deps/installed"]
      after [tool_command="grep x deps/installed"]
      start -> both; both -> x -> x2 -> met; both -> y -> met; met -> after -> exit`),
    ...installs(),
    'w/.gitignore': 'deps/\n',
  });
  const ended = await it.run('p.dot', options);
  expect(ended.code, ended.err).toBe(0);
  const nodes = (of: string) =>
    setups(it.records(`.factory/runs/${of}/journal.jsonl`)).map(({ node }) => node);
  expect(nodes('r1').toSorted()).toEqual(['after', 'x', 'x2', 'y']);
  expect(ended.err).toContain('those in what the setup has installed');
  const replayed = await it.replay('r1', { runId: 'r2' });
  expect(replayed.code, replayed.err).toBe(0);
  expect(nodes('r2').toSorted()).toEqual(['after', 'x', 'x2', 'y']);
  for (const id of ['r1', 'r2']) expect((await it.verb(['verify', id])).code).toBe(0);
});

test.for([
  [{ setup: 'npm ci' }, '"setup" is no list of commands'],
  [{ setup: ['npm ci', ''] }, '"setup" has an entry that is no command'],
  [{ setup: ['cp ../other .'] }, '"setup" has a command that is rejected by guardrail'],
] as const)('%j is refused before anything is made', async ([content, why]) => {
  await using it = await house({ 'p.dot': changing, 'w/factory.json': JSON.stringify(content) });
  const ended = await it.run('p.dot', options);
  expect(ended.code).toBe(2);
  expect(ended.err).toContain(why);
});
