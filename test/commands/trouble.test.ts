/** What a command says where the system does not let it. */
import { expect, test } from 'vitest';
import { tellTrouble } from '../../src/commands/trouble.ts';

test.for([
  ['EMFILE', 'raise the limit, e.g. ulimit -n 4096'],
  ['EACCES', 'check who owns it'],
  ['EROFS', 'mount that one with writing allowed'],
  ['ENOSPC', 'make room there'],
  ['EIO', 'check the disk'],
  ['ELOOP', 'its links lead in a circle'],
  ['ENOTDIR', 'take away what is in its place'],
  ['EEXIST', 'put what belongs there back'],
])('%s: %s', async ([code, fix]) => {
  let said = '';
  const err = (text: string) => {
    said += text;
  };
  const error = Object.assign(new Error(`${code}: no`), { code, path: '/a/b' });
  const io = { env: {}, err, out: err } as unknown as Parameters<typeof tellTrouble>[1];
  expect(await tellTrouble(error, io, ['verify', 'r'])).toBe(1);
  expect(said).toContain('/a/b: ');
  expect(said).toContain(fix);
});
