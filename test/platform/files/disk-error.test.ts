import { expect, test } from 'vitest';
import {
  about,
  codeIn,
  diskError,
  errorFrom,
  exitOfDisk,
  isDisks,
  named,
  stoppedByDisk,
} from '../../../src/platform/files/disk-error.ts';

const failure = (code: string, more: object = {}) =>
  Object.assign(new Error(`${code}: no good, fdatasync`), { code, ...more });

test.for([
  ...['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS', 'EACCES'],
  // A mount whose server has ended, and a file handle that it no longer knows.
  ...['ENOTCONN', 'ECONNABORTED', 'Unknown system error -116'],
])('%s is the disk’s, also as the cause of another', (code) => {
  const error = failure(code, { path: '/a' });
  expect(diskError(error)).toEqual({ code, path: '/a', error });
  expect(diskError(new Error('cannot write', { cause: error }))).toEqual({ code, path: '/a', error });
});

test.for([
  ['ENOSPC', '/to'],
  ['EROFS', '/to'],
  ['EACCES', '/from'],
  ['EIO', '/from'],
])('of a copy that ends by %s the trouble is with %s', ([code = '', path]) => {
  expect(diskError(failure(code, { path: '/from', dest: '/to' }))?.path).toBe(path);
});

test.for([
  [failure('ENOENT')],
  [Object.assign(new Error('read ENOTCONN'), { code: 'ENOTCONN', syscall: 'read' })],
  [Object.assign(new Error('spawnSync git ETIMEDOUT'), { code: 'ETIMEDOUT', path: 'git' })],
  [failure('Unknown system error -102')],
  [new Error('ours')],
  ['a word'],
  [undefined],
])('%s is not', ([error]) => {
  expect(diskError(error)).toBeUndefined();
});

test('a flush that fails names its file, and a path that is named already stays', async () => {
  await expect(about('/run/pack', Promise.reject(failure('EIO')))).rejects.toMatchObject({
    path: '/run/pack',
    message: 'EIO: no good, fdatasync, /run/pack',
  });
  expect(named('/b', failure('EIO', { path: '/a' }))).toMatchObject({ path: '/a' });
  expect(await about('/a', Promise.resolve(1))).toBe(1);
});

test('a stage of ours tells the engine of the disk; by hand, and for a run within a stage, the code is that of any failure', () => {
  const env = { FACTORY_NODE_DIR: '/run/apply' };
  const told = ['order', 'plan', 'scenario', 'run'].map((command) => exitOfDisk(command, env));
  expect(
    told.map((code, at) => stoppedByDisk(`factory ${['order', 'plan', 'scenario', 'run'][at]} x`, code)),
  ).toEqual([true, true, true, false]);
  expect([told[3], exitOfDisk('order', {})]).toEqual([1, 1]);
  expect(stoppedByDisk('make', told[0] ?? 0)).toBe(false);
});

test.for([
  ['fatal: unable to write file a: No space left on device', 'ENOSPC'],
  ['fatal: unable to write file a: Read-only file system', 'EROFS'],
  ['error[system]: /a: the disk reports an error (input/output error)', 'EIO'],
  ['error[system]: too many files are open', 'EMFILE'],
  ['fatal: unable to read tree: Transport endpoint is not connected', 'ENOTCONN'],
  ['error[system]: /a: the file system there has gone away: its server', 'ENOTCONN'],
  ['error[system]: /proc/x: the file system takes no new folders there', 'ENOENT'],
] as const)('%s: %s', ([text, code]) => expect(codeIn(text)).toBe(code));

test.for([
  [
    'warn\nerror[system]: /proc/a b-c: the file system takes no new folders there\n  = fix: x',
    '/proc/a b-c',
    'ENOENT',
  ],
  ['error[system]: too many files are open', '/runs/r', 'EMFILE'],
  ['', '/runs/r', 'ENOSPC'],
] as const)('the report of a tool about the disk (%s) names %s', ([text, path, code]) =>
  expect(diskError(errorFrom(text, '/runs/r'))).toMatchObject({ path, code }),
);

test.for<[string, string, object, boolean]>([
  ['a full disk', 'ENOSPC', { path: '/w/a' }, true],
  ['a closed file of the workspace', 'EACCES', { path: '/w/a' }, false],
  ['the workspace, closed itself', 'EACCES', { path: '/w' }, false],
  ['a closed file outside of it', 'EACCES', { path: '/x/a' }, true],
  ['one in a folder whose name only begins so', 'EACCES', { path: '/w-runs/a' }, true],
  ['a closed file that nobody names', 'EPERM', {}, false],
  ['the mode of a file that was just made', 'EPERM', { path: '/w/a', syscall: 'fchmod' }, true],
])('%s is the disk’s or a stage’s', ([, code, more, expected]) => {
  expect(isDisks(failure(code, more), '/w')).toBe(expected);
});
