/** A temporary directory that goes when the test does. */
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../../src/platform/files/remove.ts';

export type Temp = { readonly dir: string; at(...names: string[]): string } & AsyncDisposable;

export async function temp(): Promise<Temp> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'factory-test-')));
  return {
    dir,
    at: (...names) => join(dir, ...names),
    [Symbol.asyncDispose]: () => removeTree(dir),
  };
}
