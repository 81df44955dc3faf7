/** Messages about errors of the operating system. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reportTrouble } from '../../../src/cli/report/errors.ts';
import { creatorTag } from '../../../src/platform/files/temporary.ts';
import { writeFileAtomic } from '../../../src/platform/files/write.ts';
import { GitError } from '../../../src/platform/git.ts';
import { home } from '../../support/cli.ts';

/** The message about an error, which ends the command with exit code 1. */
async function messageOf(error: unknown, env: Readonly<Record<string, string>> = {}): Promise<string> {
  let said = '';
  const err = (text: string) => {
    said += text;
  };
  const io = { env, err, out: err } as unknown as Parameters<typeof reportTrouble>[1];
  expect(await reportTrouble(error, io, ['verify', 'r'])).toBe(1);
  return said;
}

test.for([
  ['EMFILE', 'raise the limit, e.g. ulimit -n 4096'],
  ['EACCES', 'check who owns it'],
  ['EROFS', 'mount that one with writing allowed'],
  ['ENOSPC', 'make room there'],
  ['EIO', 'check the disk'],
  ['ENOTCONN', 'has gone away: its server has ended or does not answer\n  = fix: mount it again'],
  ['ENOSYS', 'use a place on another file system'],
  ['ERR_ACCESS_DENIED', 'start it without --permission'],
  ['ELOOP', 'its symbolic links form a loop'],
  ['ENOTDIR', 'take away what is in its place'],
  ['EEXIST', 'put what belongs there back'],
])('%s: %s', async ([code, fix]) => {
  const said = await messageOf(Object.assign(new Error(`${code}: no`), { code, path: '/a/b' }));
  expect(said).toContain(code === 'ERR_ACCESS_DENIED' ? `forbids what factory needs: ${code}: no` : '/a/b: ');
  expect(said).toContain(fix);
});

const made = `/temp/factory-diff-${creatorTag()}-XXXXXX`;
const room = `/temp/scenario-${creatorTag()}-a1B2c3`;

test.for([
  ['EROFS', made, 'set TMPDIR to a place that can be written to'],
  ['ENOSPC', `${made}/stream`, 'make room there, or set TMPDIR to another place'],
  ['ENOSPC', `${room}/live/app`, 'make room there, or set TMPDIR to another place'],
  ['EACCES', '/temp/factory-proof-m-a1B2c3/x', 'set TMPDIR to a place that can be written to'],
  [
    'EACCES',
    '/temp/factory-demo/.factory/runs/r',
    'check who owns it, its permissions and those of the folders above it',
  ],
  ['ENOSPC', '/temp/factory-demo/.factory/runs/r', 'make room there (files, or a larger quota)'],
  ['ENOSPC', '/temp/other', 'make room there (files, or a larger quota)'],
  ['EMFILE', made, 'raise the limit, e.g. ulimit -n 4096'],
] as const)('%s in a temporary folder, at %s: %s', async ([code, below, fix]) => {
  await using it = await home({ 'temp/x': '' });
  const path = `${it.path}${below}`;
  for (const error of [
    Object.assign(new Error(`${code}: no`), { code, path }),
    ...(code === 'ENOSPC' ? [new GitError('git x: No space left on device', false, false, path)] : []),
  ]) {
    expect(await messageOf(error, { TMPDIR: join(it.path, 'temp') })).toContain(`fix: ${fix}\n`);
  }
});

test('a folder in place of a file is reported, not the temporary file', async () => {
  await using it = await home({ 'there/x': '' });
  const there = join(it.path, 'there');
  const error = await writeFileAtomic(there, 'x').catch((thrown: unknown) => thrown);
  expect(await messageOf(error)).toContain(`${there}: it is a folder`);
});
