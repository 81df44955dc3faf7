/** The tools of a model, on real files and programs. */
import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tools } from '../../../src/agents/openai/tools/index.ts';
import { resolvedScope } from '../../../src/agents/openai/tools/place.ts';
import type { ToolResult } from '../../../src/agents/openai/tools/tool.ts';
import { toolNames } from '../../../src/core/contracts/agent.ts';
import type { ToolScope } from '../../../src/core/policy/tool-paths.ts';
import { realClock } from '../../../src/platform/clock.ts';
import { programTask } from '../program-task.ts';

async function workspace(
  files: Readonly<Record<string, string>> = {},
  scope: Partial<ToolScope> = {},
  clock = realClock,
) {
  const it = await programTask(files);
  let call = 0;
  const use = async (name: string, args: unknown): Promise<ToolResult> => {
    const prepared = tools()
      .find((tool) => tool.name === name)
      ?.prepare(args);
    if (prepared === undefined || 'problem' in prepared) throw new Error(`${name}: ${prepared?.problem}`);
    call += 1;
    return prepared.run({
      task: it.task(),
      root: it.workspace,
      scope: await resolvedScope(it.workspace, { hidden: ['scripts/scenarios/'], ...scope }),
      clock,
      runMs: 60_000,
      signal: new AbortController().signal,
      call,
    });
  };
  return { ...it, use, at: (path: string) => join(it.workspace, path) };
}

test('the tools are those that nodes may name', () => {
  expect(tools().map(({ name }) => name)).toEqual([...toolNames]);
});

test('read returns the lines that are asked for, and where to continue', async () => {
  await using it = await workspace({ 'a.txt': 'one\ntwo\nthree\n', 'empty.txt': '' });
  expect(await it.use('read', { path: 'a.txt' })).toEqual({
    ok: true,
    text: 'a.txt: lines 1-3 of 3 (14 bytes)\none\ntwo\nthree',
  });
  expect((await it.use('read', { path: './a.txt', from: 2, lines: 1 })).text).toBe(
    'a.txt: lines 2-2 of 3 (14 bytes; continue with from=3)\ntwo',
  );
  expect((await it.use('read', { path: 'empty.txt' })).text).toContain('is empty');
  expect(await it.use('read', { path: 'a.txt', from: 4 })).toMatchObject({
    ok: false,
    text: expect.stringContaining('has 3 lines'),
  });
});

test('a long file comes in parts, a long line without its middle', async () => {
  await using it = await workspace({
    'long.txt': Array.from({ length: 1200 }, (_, n) => `line ${n + 1}\n`).join(''),
    'wide.txt': `${'a'.repeat(100_000)}😀${'z'.repeat(100_000)}`,
  });
  expect((await it.use('read', { path: 'long.txt' })).text).toMatch(
    /^long.txt: lines 1-500 of 1200 .*from=501\)\nline 1\n[\s\S]*\nline 500$/,
  );
  const { text } = await it.use('read', { path: 'wide.txt' });
  expect(text.length).toBeLessThan(50_000);
  expect(text).toMatch(/a\n\[… 152002 characters \(0 line ends\) left out …\]\nz/);
});

test.for([
  '../outside.txt',
  '/etc/passwd',
  'out.txt',
  'folder-out/outside.txt',
  'circle',
  'nothing',
  'a/b/../c',
])('reading, listing and searching %s is refused', async (path) => {
  await using it = await workspace({ 'a/b/c': 'c' });
  writeFileSync(it.at('../outside.txt'), 'outside');
  symlinkSync('../outside.txt', it.at('out.txt'));
  symlinkSync('..', it.at('folder-out'));
  symlinkSync('circle', it.at('circle'));
  for (const [name, args] of [
    ['read', { path }],
    ['list', { path }],
    ['search', { pattern: 'outside', path }],
  ] as const) {
    const result = await it.use(name, args);
    expect(result).toMatchObject({ ok: false, text: expect.stringMatching(/^error: /) });
  }
});

test('hidden files below a folder stay hidden through a link to that folder', async () => {
  await using it = await workspace(
    {
      'scripts/scenarios/judge.sh': 'hush\n',
      'scripts/x.sh': 'hush in sight\n',
      'scripts/.git/config': 'hush of git\n',
    },
    { only: ['scripts/'] },
  );
  mkdirSync(it.at('scripts/doors'));
  symlinkSync('..', it.at('scripts/doors/up'));
  expect((await it.use('search', { pattern: 'hush', path: 'scripts/doors/up' })).text).toBe(
    'scripts/doors/up/x.sh:1: hush in sight',
  );
  const { text } = await it.use('list', { path: 'scripts/doors/up', depth: 5 });
  expect(text).toMatch(/^scripts\/doors\/up: 3 entries\n/);
  expect(text).not.toMatch(/judge|git|scenarios/);
  expect(text).toContain('scripts/doors/up/x.sh 14');
});

test('a link to the folder above a narrow read scope shows no more than the scope', async () => {
  await using it = await workspace({ 'docs/a.md': 'x', 'src/b.ts': 'x' }, { only: ['docs/'] });
  symlinkSync('..', it.at('docs/up'));
  expect((await it.use('search', { pattern: 'x', path: 'docs/up' })).text).toBe('docs/up/docs/a.md:1: x');
  expect((await it.use('list', { path: 'docs/up', depth: 3 })).text).not.toContain('src');
});

test('hidden files are neither read, listed nor found', async () => {
  await using it = await workspace(
    {
      'scripts/scenarios/judge.sh': 'judge',
      'scripts/x.sh': 'judged',
      'real/secret.txt': 'judge me',
      '.git/config': 'judge',
    },
    { hidden: ['scripts/scenarios/', 'alias.txt'] },
  );
  symlinkSync('scripts/scenarios', it.at('door'));
  symlinkSync('real/secret.txt', it.at('alias.txt'));
  for (const path of [
    'scripts/scenarios/judge.sh',
    'scripts/scenarios',
    'door/judge.sh',
    'alias.txt',
    'real/secret.txt',
    '.git/config',
  ])
    expect(await it.use('read', { path })).toMatchObject({ ok: false });
  const found = await it.use('search', { pattern: 'judge' });
  expect(found.text).toBe('scripts/x.sh:1: judged');
  const listed = await it.use('list', { depth: 5 });
  expect(listed.text).toBe('.: 4 entries\ndoor (link)\nreal/\nscripts/\nscripts/x.sh 6');
});

test('of a narrow read scope only its paths are seen', async () => {
  await using it = await workspace({ 'docs/a.md': 'x', 'src/b.ts': 'x', 'c.txt': 'x' }, { only: ['docs/'] });
  expect((await it.use('list', { depth: 3 })).text).toBe('.: 2 entries\ndocs/\ndocs/a.md 1');
  expect((await it.use('search', { pattern: 'x' })).text).toBe('docs/a.md:1: x');
  expect(await it.use('read', { path: 'src/b.ts' })).toMatchObject({ ok: false });
  expect((await it.use('run', { command: 'ls -A' })).text).toContain('stdout (5 bytes):\ndocs\n');
  expect(it.inWorkspace()).toEqual(['c.txt', 'docs', 'src']);
});

test('binary files, folders and pipes are refused with their kind', async () => {
  await using it = await workspace({ 'a/b.txt': 'x' });
  writeFileSync(it.at('bin'), Buffer.from([1, 0, 2]));
  writeFileSync(it.at('latin'), Buffer.from([0x61, 0xe4, 0x0a]));
  execFileSync('mkfifo', [it.at('pipe')]);
  expect((await it.use('read', { path: 'bin' })).text).toContain('is a binary file of 3 bytes');
  expect((await it.use('read', { path: 'latin' })).text).toContain(
    'binary file of 3 bytes (or text in another encoding',
  );
  expect((await it.use('read', { path: 'a' })).text).toContain('is a folder: use list');
  expect((await it.use('read', { path: '' })).text).toContain('"." is a folder');
  expect((await it.use('read', { path: 'pipe' })).text).toContain('is no plain file');
  expect((await it.use('list', { path: 'a/b.txt' })).text).toContain('is no folder: use read');
  expect((await it.use('search', { pattern: 'x' })).text).toBe('a/b.txt:1: x');
});

test('search takes a text or a regular expression, and stops one that does not end', async () => {
  let now = 0;
  // Each file takes nearly all of the five seconds.
  const slow = { ...realClock, monotonic: () => (now += 4900) };
  const files = {
    'a.ts': 'const a = f(1);\nconst b = F(2);\r\n',
    'node_modules/x/i.js': 'f(1)',
    'evil.txt': `${'a'.repeat(40)}!`,
  };
  await using it = await workspace(files);
  expect((await it.use('search', { pattern: 'f(1)' })).text).toBe('a.ts:1: const a = f(1);');
  expect((await it.use('search', { pattern: 'f\\(\\d\\);?', regex: true, ignore_case: true })).text).toBe(
    'a.ts:1: const a = f(1);\na.ts:2: const b = F(2);',
  );
  expect((await it.use('search', { pattern: 'f(1)', path: 'node_modules' })).text).toBe(
    'node_modules/x/i.js:1: f(1)',
  );
  expect((await it.use('search', { pattern: 'nowhere' })).text).toBe('nothing found in 2 text files');
  expect((await it.use('search', { pattern: '(', regex: true })).text).toContain('no regular expression');
  expect((await it.use('search', { pattern: '' })).text).toContain('the pattern is empty');
  await using late = await workspace(files, {}, slow);
  expect(await late.use('search', { pattern: '^(a+)+$', regex: true })).toMatchObject({
    ok: false,
    text: expect.stringContaining('takes too long (in evil.txt)'),
  });
});

test('many hits are cut with a note', async () => {
  await using it = await workspace({ 'a.txt': 'x\n'.repeat(1000), 'b.txt': 'x\n' });
  const { text } = await it.use('search', { pattern: 'x' });
  expect(text.split('\n')).toHaveLength(201);
  expect(text).toMatch(/a.txt:200: x\n\[… more than 200 lines match: narrow/);
});

test('write makes and replaces files, keeps their mode, and says when nothing changed', async () => {
  await using it = await workspace({ 'a.sh': '#!/bin/sh\n' });
  expect(await it.use('write', { path: 'new/deep/b.txt', content: 'ä' })).toEqual({
    ok: true,
    text: 'new/deep/b.txt: written, 2 bytes (a new file)',
  });
  expect(await it.use('write', { path: 'a.sh', content: '#!/bin/sh\nls\n' })).toMatchObject({
    ok: true,
  });
  expect(statSync(it.at('a.sh')).mode & 0o777).toBe(0o755);
  expect(await it.use('write', { path: 'a.sh', content: '#!/bin/sh\nls\n' })).toMatchObject({
    ok: true,
    text: expect.stringContaining('unchanged'),
  });
});

test.for([
  ['../x', 'has ".."'],
  ['/tmp/x', 'is absolute'],
  ['link.txt', '"link.txt" is a link'],
  ['folder-link/x.txt', '"folder-link" is a link'],
  ['dangling', '"dangling" is a link'],
  ['src/sub', 'is a folder'],
  ['src/sub/', 'names a folder'],
  ['src/a.txt/b', 'lies below "src/a.txt", which is no folder'],
  ['other.txt', 'is not in allowed_write_paths: this node may write src/'],
  ['scripts/scenarios/judge.sh', 'out of the scope'],
  ['.git/hooks/post-commit', 'belongs to git'],
  ['.factory/plan/answer.json', 'is not in allowed_write_paths'],
  ['src/pipe', 'is no plain file'],
] as const)('writing and patching %s is refused: %s', async ([path, why]) => {
  await using it = await workspace(
    { 'src/a.txt': 'a\n', 'src/sub/b.txt': 'b\n', 'scripts/scenarios/judge.sh': 'judge' },
    { writable: ['src/', 'link.txt', 'folder-link/', 'dangling', 'scripts/scenarios/'] },
  );
  mkdirSync(it.at('../elsewhere'));
  symlinkSync('../elsewhere/x.txt', it.at('link.txt'));
  symlinkSync('../elsewhere', it.at('folder-link'));
  symlinkSync('nowhere', it.at('dangling'));
  execFileSync('mkfifo', [it.at('src/pipe')]);
  writeFileSync(it.at('../elsewhere/x.txt'), 'untouched');
  for (const [name, args] of [
    ['write', { path, content: 'a' }],
    ['patch', { path, edits: [{ find: 'a', replace: 'b' }] }],
  ] as const)
    expect(await it.use(name, args)).toMatchObject({ ok: false, text: expect.stringContaining(why) });
  expect(readFileSync(it.at('../elsewhere/x.txt'), 'utf8')).toBe('untouched');
  expect(readFileSync(it.at('scripts/scenarios/judge.sh'), 'utf8')).toBe('judge');
});

test('writing one hard link leaves the others unchanged', async () => {
  await using it = await workspace({ 'a.txt': 'a\n' });
  writeFileSync(it.at('../outside.txt'), 'outside\n');
  linkSync(it.at('../outside.txt'), it.at('b.txt'));
  expect(await it.use('write', { path: 'b.txt', content: 'mine' })).toMatchObject({ ok: true });
  expect(readFileSync(it.at('../outside.txt'), 'utf8')).toBe('outside\n');
});

test('patch makes all edits, or none where one of them does not apply', async () => {
  await using it = await workspace({ 'a.txt': 'one\ntwo\n' });
  chmodSync(it.at('a.txt'), 0o640);
  const edits = [
    { find: 'one', replace: '1' },
    { find: 'three', replace: '3' },
  ];
  expect(await it.use('patch', { path: 'a.txt', edits })).toMatchObject({
    ok: false,
    text: 'error: a.txt is unchanged: edit 2 of 2 does not apply: its "find" is nowhere in the file',
  });
  expect(readFileSync(it.at('a.txt'), 'utf8')).toBe('one\ntwo\n');
  expect(await it.use('patch', { path: 'a.txt', edits: edits.slice(0, 1) })).toMatchObject({
    ok: true,
  });
  expect(readFileSync(it.at('a.txt'), 'utf8')).toBe('1\ntwo\n');
  expect(statSync(it.at('a.txt')).mode & 0o777).toBe(0o640);
  expect((await it.use('patch', { path: 'no.txt', edits })).text).toContain(
    'there is no "no.txt" in the workspace: use write',
  );
  await it.use('write', { path: 'crlf.txt', content: 'a\r\na\r\nb\r\n' });
  const twice = [{ find: 'a\n', replace: 'c' }];
  expect((await it.use('patch', { path: 'crlf.txt', edits: twice })).text).toContain('is at lines 1 and 2');
  const once = [{ find: 'a\nb\n', replace: 'c\nd\n' }];
  expect(await it.use('patch', { path: 'crlf.txt', edits: once })).toMatchObject({ ok: true });
  expect(readFileSync(it.at('crlf.txt'), 'utf8')).toBe('a\r\nc\r\nd\r\n');
});

test('run reports exit code and output, without a shell and without hidden files', async () => {
  await using it = await workspace({ 'scripts/scenarios/judge.sh': 'judge', 'src/a.txt': 'a' });
  expect(await it.use('run', { command: 'ls scripts "src"' })).toMatchObject({
    ok: true,
    text: 'exit code 0\nstdout (21 bytes):\nscripts:\n\nsrc:\na.txt\nstderr: nothing',
  });
  const failing = await it.use('run', {
    command: `sh -c 'echo "a | b"; echo oh >&2; exit 3'`,
  });
  expect(failing).toMatchObject({
    ok: true,
    text: 'exit code 3\nstdout (6 bytes):\na | b\nstderr (3 bytes):\noh',
  });
  expect(readFileSync(it.at('scripts/scenarios/judge.sh'), 'utf8')).toBe('judge');
  expect(it.read('openai.run_002.stderr.log')).toBe('oh\n');
});

test('a long output is shortened to head and tail for the model, and kept whole', async () => {
  await using it = await workspace();
  const { text } = await it.use('run', { command: 'seq 100000' });
  expect(text.length).toBeLessThan(20_000);
  expect(text).toMatch(
    /^exit code 0\nstdout \(588895 bytes\):\n1\n2\n[\s\S]*bytes left out[\s\S]*\n100000\nstderr: nothing$/,
  );
  expect(it.read('openai.run_001.stdout.log')).toHaveLength(588_895);
});

test.for([
  [{ command: 'ls | wc' }, 'it runs without a shell, so | outside quotes means nothing'],
  [{ command: 'echo a > b' }, 'so > outside quotes'],
  [{ command: 'cat ../x' }, 'a ".." path component: ../x'],
  [{ command: 'cat /etc/passwd' }, 'an absolute path: /etc/passwd'],
  [{ command: "sh -c 'cat ~/.ssh/id_rsa'" }, 'a home reference'],
  [{ command: "bash -lc 'cd .. && ls'" }, 'a ".." path component'],
  [{ command: 'echo "a' }, 'a double quote is never closed (at character 6)'],
  [{ command: ' ' }, 'the program has no name'],
  [{ command: "''" }, 'the program has no name'],
  [{ command: 'echo a\0b' }, 'a NUL'],
  [{ command: 'no-such-program-here x' }, '"no-such-program-here" cannot be run'],
  [{ command: 'sleep 100', timeout_seconds: 0.05 }, 'ended after 0.05 s'],
] as const)('run %j fails: %s', async ([args, why]) => {
  await using it = await workspace();
  expect(await it.use('run', args)).toMatchObject({ ok: false, text: expect.stringContaining(why) });
});
