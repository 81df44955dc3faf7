import { expect, test } from 'vitest';
import { about, diskTrouble, named } from '../../src/system/disk-trouble.ts';

const failure = (code: string, more: object = {}) =>
  Object.assign(new Error(`${code}: no good, fdatasync`), { code, ...more });

test.for(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS', 'EACCES'])(
  '%s is the disk’s, also as the cause of another',
  (code) => {
    const error = failure(code, { path: '/a' });
    expect(diskTrouble(error)).toEqual({ code, path: '/a', error });
    expect(diskTrouble(new Error('cannot write', { cause: error }))).toEqual({ code, path: '/a', error });
  },
);

test.for([[failure('ENOENT')], [new Error('ours')], ['a word'], [undefined]])('%s is not', ([error]) => {
  expect(diskTrouble(error)).toBeUndefined();
});

test('a flush that fails names its file, and a path that is named already stays', async () => {
  await expect(about('/run/pack', Promise.reject(failure('EIO')))).rejects.toMatchObject({
    path: '/run/pack',
    message: 'EIO: no good, fdatasync, /run/pack',
  });
  expect(named('/b', failure('EIO', { path: '/a' }))).toMatchObject({ path: '/a' });
  expect(await about('/a', Promise.resolve(1))).toBe(1);
});
