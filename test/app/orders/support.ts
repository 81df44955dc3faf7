/** Work orders of one file each, and what a model answers to them. */
import { emptySha } from '../../builder/support.ts';

/** The `n`-th order: `f<n>.txt` with `n` in it. */
export const order = (n: number, more: object = {}) => ({
  id: `WO-0${n}`,
  title: `Step ${n}`,
  intent: 'One file.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path: `f${n}.txt` }],
  allowed_files: [`f${n}.txt`],
  forbidden: [],
  acceptance_commands: [`grep -q ${n} f${n}.txt`],
  context_files: [`f${n}.txt`],
  notes: null,
  ...more,
});

/** A proposal that makes a file which is not there yet. */
export const answer = (path: string, content: string, more: object = {}) => ({
  json: { summary: 's', writes: [{ path, base_sha256: emptySha, content }] },
  ...more,
});
