import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readlinkSync, statfsSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyProposal } from '../../src/builder/apply.ts';
import { parseProposal } from '../../src/builder/proposal.ts';
import { extractJson } from '../../src/core/answer-json.ts';
import { proposalSchema } from '../../src/core/orders/proposal.ts';
import { emptySha, folder, put, tree } from './support.ts';

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const write = (path: string, content: string, base = '') => ({ path, content, base_sha256: sha(base) });
const apply = (root: string, allowed: string[], ...writes: ReturnType<typeof write>[]) =>
  applyProposal(root, { allowed_files: allowed }, { summary: '', writes });

describe('a proposal', () => {
  test('that fails in the middle leaves files, modes, links and folders unchanged', async () => {
    using it = folder({ 'old.sh': 'echo\n', 'other/target.txt': 't\n' });
    chmodSync(join(it.path, 'old.sh'), 0o750);
    symlinkSync('other/target.txt', join(it.path, 'alias'));
    const before = tree(it.path);
    const far = `x/y/${'n'.repeat(300)}/z`;
    const applied = await apply(
      it.path,
      ['old.sh', 'alias', 'new/deep/file', far],
      write('old.sh', 'changed\n', 'echo\n'),
      write('alias', 'a file now\n', 't\n'),
      write('new/deep/file', 'n\n'),
      write(far, 'y\n'),
    );
    expect(applied.failure?.stage).toBe('write_failed');
    expect(tree(it.path)).toEqual(before);
    expect(() => statSync(join(it.path, 'new'))).toThrow();
    expect(() => statSync(join(it.path, 'x'))).toThrow();
    expect(statSync(join(it.path, 'old.sh')).mode & 0o777).toBe(0o750);
  });

  test('that finds no disk space changes nothing, and is not a failure of the answer', async (context) => {
    using it = folder();
    const small = (option: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', option, 'tmpfs', it.path]);
    if (small('size=1m').status !== 0)
      return context.skip('no small disk can be mounted here (that takes root, on Linux)');
    try {
      put(it.path, { 'old.sh': 'echo\n' });
      const before = tree(it.path);
      const { files, ffree } = statfsSync(it.path);
      // For the replacement of the one file, and for the folder of the other.
      small(`remount,nr_inodes=${files - ffree + 1}`);
      const writes = [write('old.sh', 'changed\n', 'echo\n'), write('new/file', 'n\n')];
      await expect(apply(it.path, ['old.sh', 'new/file'], ...writes)).rejects.toThrow('ENOSPC');
      expect(tree(it.path)).toEqual(before);
      expect(readdirSync(it.path)).toEqual(['old.sh']);
      small(`remount,nr_inodes=${files}`);
      expect((await apply(it.path, ['old.sh', 'new/file'], ...writes)).failure).toBeUndefined();
    } finally {
      spawnSync('umount', [it.path]);
    }
  });

  test('keeps the permission bits of a file, and makes a new one executable if it begins with #!', async () => {
    using it = folder({ 'run.sh': 'a\n', 'secret.txt': 's\n' });
    chmodSync(join(it.path, 'run.sh'), 0o755);
    chmodSync(join(it.path, 'secret.txt'), 0o600);
    await apply(
      it.path,
      ['run.sh', 'secret.txt', 'new.txt', 'bin/new', 'lib.rs', 'node_modules/.bin/node'],
      write('run.sh', 'b', 'a\n'),
      write('secret.txt', '#!/bin/sh\n', 's\n'),
      write('new.txt', ''),
      write('bin/new', '#!/usr/bin/env node\n'),
      write('lib.rs', '#![no_std]\n'),
      write('node_modules/.bin/node', '#!/bin/sh\n'),
    );
    expect(
      ['run.sh', 'secret.txt', 'new.txt', 'bin/new', 'lib.rs', 'node_modules/.bin/node'].map(
        (path) => statSync(join(it.path, path)).mode & 0o777,
      ),
    ).toEqual([0o755, 0o600, 0o644, 0o755, 0o644, 0o644]);
  });

  test.for([
    ['.git/config', '.git/config'],
    ['.git', '.git'],
    ['sub/.git/hooks/post-checkout', 'sub/.git/hooks/post-checkout'],
    ['.GIT/config', '.GIT/config'],
    // Names that git refuses to commit, because some systems treat them as equal.
    ['git~1/config', 'git~1/config'],
    ['a/.git./x', 'a/.git./x'],
    ['.Git /x', '.Git /x'],
    ['.git::$INDEX_ALLOCATION/x', '.git::$INDEX_ALLOCATION/x'],
    ['.g\u200cit/x', '.g\u200cit/x'],
    ['.factory/order/state.json', '.factory/order/state.json'],
    ['./.factory/x', '.factory/x'],
    ['.Factory/x', '.Factory/x'],
  ])('never writes %s, even if the order allows it', async ([path = '']) => {
    using it = folder({ 'a.txt': 'a' });
    const parsed = parseProposal(JSON.stringify({ summary: '', writes: [write(path, 'x')] }));
    if ('stage' in parsed) throw new Error(parsed.reason);
    const applied = await applyProposal(it.path, { allowed_files: [path] }, parsed.proposal);
    expect(applied.failure?.stage).toBe('write_scope_violation');
    expect(tree(it.path, [])).toEqual({ 'a.txt': 'a' });
  });

  test.for([
    ['to git', 'settings', '.git/config', /^settings is a link to \.git\/config, which is never written$/],
    ['into the folder .factory', 'state', '.factory/x', /^state is a link to \.factory\/x, which is never/],
    ['to a sibling folder with the same name prefix', 'next', '../w-private/secret', /leaves the workspace$/],
    ['outside, over a link to a folder', 'far', 'door/secret', /leaves the workspace$/],
    ['to a missing file outside', 'new', 'door/none', /leaves the workspace$/],
  ] as const)('is refused where a file is a link %s', async ([, path, target, why]) => {
    using it = folder({ 'w/.git/config': 'c', 'w/.factory/x': 'c', 'w-private/secret': 'c' });
    const root = join(it.path, 'w');
    symlinkSync('../w-private', join(root, 'door'));
    symlinkSync(target, join(root, path));
    for (const base of ['c', '']) {
      const { failure } = await apply(root, [path], write(path, 'mine', base));
      expect(failure).toMatchObject({ stage: 'write_scope_violation', reason: expect.stringMatching(why) });
    }
    expect(readlinkSync(join(root, path))).toBe(target);
  });

  test('fails in the usual way for a folder, a pipe, a cycle of links, a file as a folder, and an endless name', async () => {
    using it = folder({ 'dir/in': '1', file: 'f' });
    execFileSync('mkfifo', [join(it.path, 'pipe')]);
    symlinkSync('b', join(it.path, 'a'));
    symlinkSync('a', join(it.path, 'b'));
    const long = 'n'.repeat(300);
    const stages: (string | undefined)[] = [];
    for (const path of ['dir', 'pipe', 'a', 'file/below', long]) {
      stages.push((await apply(it.path, [path], write(path, 'x'))).failure?.stage);
    }
    expect(stages).toEqual([...Array.from({ length: 4 }, () => 'write_scope_violation'), 'write_failed']);
  });

  test('with a path that only looks like an allowed one is refused with a note about its characters', async () => {
    using it = folder();
    const { failure } = await apply(it.path, ['caf\u00e9.txt'], write('cafe\u0301.txt', 'x'));
    expect(failure).toMatchObject({
      stage: 'write_scope_violation',
      reason: expect.stringMatching(/^not in allowed_files: .*has other Unicode characters/),
    });
  });

  test.for(['../out.txt', '/out.txt', '..', 'a\\b', 'a\0b', 'C:/x', 'a\n', '*'])(
    'never writes %j, even if the caller has validated neither order nor proposal',
    async (path) => {
      using it = folder({ 'w/a.txt': 'a' });
      const { failure } = await apply(join(it.path, 'w'), [path], write(path, 'x'));
      expect(failure?.stage).toBe('write_scope_violation');
      expect(tree(it.path, [])).toEqual({ 'w/a.txt': 'a' });
    },
  );

  test('is refused if a file would also have to be the folder of another file', async () => {
    using it = folder();
    const writes = [write('n', '1'), write('other', '2'), write('n/m/x', '3')];
    for (const some of [writes, [...writes].reverse()]) {
      const applied = await applyProposal(
        it.path,
        { allowed_files: some.map(({ path }) => path) },
        { summary: '', writes: some },
      );
      expect(applied.failure).toEqual({
        stage: 'write_failed',
        reason: 'n/m/x lies below a path that the same proposal writes as a file',
      });
    }
    expect(tree(it.path, [])).toEqual({});
  });

  const long = 'n'.repeat(5000);
  test.for<[string, string]>([
    ['a name of 5,000 characters', long],
    ['a folder with a name of 5,000 characters', `new/deep/${long}/f`],
    ['folders beyond every limit', `new/${'d/'.repeat(2500)}f`],
    ['a folder', 'dir'],
    ['a folder with a slash', 'dir/'],
    ['a file as a folder', 'file/below'],
    ['a file as a folder, deep', 'file/below/deep/f'],
    ['a pipe', 'pipe'],
    ['below a pipe', 'pipe/f'],
    ['a link to a device', 'null'],
    ['a link to a folder', 'shortcut'],
    ['a link to a pipe', 'hose'],
    ['below a link to a device', 'null/f'],
  ])('that names %s fails, and no file or folder is created', async ([, path]) => {
    using it = folder({ 'dir/in': '1', file: 'f' });
    execFileSync('mkfifo', [join(it.path, 'pipe')]);
    symlinkSync('/dev/null', join(it.path, 'null'));
    symlinkSync('dir', join(it.path, 'shortcut'));
    symlinkSync('pipe', join(it.path, 'hose'));
    const seen = () => readdirSync(it.path, { recursive: true }).sort();
    const was = seen();
    const text = JSON.stringify({ summary: '', writes: [write('ok.txt', 'fine'), write(path, 'x')] });
    const parsed = parseProposal(text);
    if ('stage' in parsed) throw new Error(parsed.reason);
    const allowed_files = parsed.proposal.writes.map((one) => one.path);
    const applied = await applyProposal(it.path, { allowed_files }, parsed.proposal);
    expect(applied.failure?.stage).toMatch(/^write_(?:scope_violation|failed)$/);
    expect(applied.failure?.reason.length).toBeLessThan(2000);
    expect(seen()).toEqual(was);
  });

  test('with one stale hash writes nothing and reports the right hash', async () => {
    using it = folder({ 'a.txt': 'a', 'b.txt': 'b' });
    const applied = await apply(
      it.path,
      ['a.txt', 'b.txt'],
      write('a.txt', 'new', 'a'),
      write('b.txt', 'new', 'stale'),
    );
    expect(applied).toMatchObject({ touched: ['a.txt', 'b.txt'], failure: { stage: 'stale_context' } });
    expect(applied.failure?.reason).toContain(sha('b'));
    expect(tree(it.path)).toEqual({ 'a.txt': 'a', 'b.txt': 'b' });
  });

  test('writes exactly the given bytes at every valid path', async () => {
    const part = fc.stringMatching(/^[a-z]{1,6}$/);
    const text = fc.string({ unit: 'grapheme', maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(part, text), { selector: ([name]) => name, minLength: 1, maxLength: 5 }),
        async (all) => {
          using it = folder();
          const writes = all.map(([name, content]) => write(`d/${name}.txt`, content));
          expect(
            (
              await apply(
                it.path,
                writes.map((one) => one.path),
                ...writes,
              )
            ).failure,
          ).toBeUndefined();
          expect(tree(it.path)).toEqual(Object.fromEntries(writes.map((one) => [one.path, one.content])));
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe('an answer', () => {
  test.for([
    [
      'a lone surrogate in the content',
      '{"summary":"s","writes":[{"path":"a","base_sha256":"","content":"\\ud800"}]}',
    ],
    [
      'a lone surrogate in the summary',
      '{"summary":"\\udc00","writes":[{"path":"a","base_sha256":"","content":""}]}',
    ],
    ['a byte order mark', '\ufeff{"summary":"s","writes":[{"path":"a","base_sha256":"","content":""}]}'],
    ['no writes', '{"summary":"s","writes":[]}'],
    ['one fence on a line', '```json {"summary":"s"}```'],
    ['a list', '[]'],
    ['NaN', '{"summary":"s","x":NaN,"writes":[{"path":"a","base_sha256":"","content":""}]}'],
  ])('with %s is not a proposal', ([, text = '']) => {
    expect(parseProposal(text)).toMatchObject({ stage: 'llm_output_invalid' });
  });

  test('in a fence with blanks around it is read, one with a key given twice is not', () => {
    const fenced = (text: string) => extractJson(`\u00a0\n\`\`\`json\r\n${text}\r\n\`\`\`  \n\u2028`);
    expect(fenced('{"a": 1, "b": 2}')).toEqual({ value: { a: 1, b: 2 } });
    expect(fenced('{"a": 1, "a": 2}')).toEqual({ problem: 'the answer has the key "a" twice in one object' });
  });

  test('of any JSON value reads back as that value, bare or fenced', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, fenced) => {
        const text = JSON.stringify(value);
        const read = extractJson(fenced ? `\`\`\`json\n${text}\n\`\`\`` : ` ${text}\n`);
        expect(read).toEqual({ value: JSON.parse(text) });
      }),
    );
  });

  test('is described by a closed JSON schema', () => {
    expect(proposalSchema).toMatchObject({
      type: 'object',
      required: ['summary', 'writes'],
      additionalProperties: false,
    });
    expect(JSON.stringify(proposalSchema)).toContain(emptySha);
  });
});

test('two spellings of one path are one path', async () => {
  using it = folder();
  mkdirSync(join(it.path, 'src'));
  put(it.path, {});
  const parsed = parseProposal(
    JSON.stringify({ summary: '', writes: [write('src//a', '1'), write('./src/a', '2')] }),
  );
  if ('stage' in parsed) throw new Error(parsed.reason);
  const applied = await applyProposal(it.path, { allowed_files: ['src/a'] }, parsed.proposal);
  expect(applied).toMatchObject({ touched: ['src/a'], failure: { stage: 'write_scope_violation' } });
});
