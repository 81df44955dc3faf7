/** Notes to agents of branches that run at once: each is given to one of them. */
import { expect, test } from 'vitest';
import { kinds } from '../../src/app/kinds.ts';
import type { Run } from '../../src/engine/run-context.ts';
import { notesFor, releaseNotes } from '../../src/engine/steering.ts';
import { linkNote } from '../../src/run/note-files.ts';
import { temp } from '../platform/temp.ts';
import { graphOf } from '../support/graph.ts';
import { prepared } from './prepared-run.ts';

const given = { by: 'Ada', at: '2026-03-01T00:00:00.000Z', from: 'command' } as const;

/** A run with the branches `a` and `b`; `of` answers the numbers of the notes that an agent of a branch gets. */
async function branched(dir: string, more: Partial<Run> = {}) {
  const graph = graphOf('a [prompt=a]; b [prompt=b]; a -> b');
  const ready = await prepared(dir, graph, { kinds });
  const history = ready.past.history();
  const cursor = { context: {}, nodes: [], snapshot: 's0' };
  const fork = { node: 'f', join: 'j', base: 's0', step: 1, branches: { a: cursor, b: cursor } };
  const past = {
    ...ready.past,
    history: () => ({ ...history, checkpoint: { ...history.checkpoint, fork } as never }),
  };
  const run: Run = { ...ready, past, ...more };
  const execution = (id: 'a' | 'b', visit = 1) => {
    const node = graph.nodes.get(id);
    if (node === undefined) throw new Error('no node');
    return { node, visit };
  };
  return {
    of: async (id: 'a' | 'b', visit?: number) => {
      const notes = await notesFor({ ...run, branch: id }, execution(id, visit)).forPrompt();
      return notes.map(({ note }) => note);
    },
    texts: async () => (await notesFor(run, execution('a')).forPrompt()).map(({ text }) => text),
    release: (id: 'a' | 'b') => releaseNotes(run, execution(id)),
    close: ready.close,
  };
}

test('a note without a branch goes to the first agent that asks, one with a branch to that of the branch', async () => {
  await using it = await temp();
  const run = await branched(it.dir);
  await linkNote(it.dir, { ...given, text: 'any' });
  await linkNote(it.dir, { ...given, text: 'for a', branch: 'a' });
  await linkNote(it.dir, { ...given, text: 'for b', branch: 'b' });
  const [ofB, ofA] = await Promise.all([run.of('b'), run.of('a')]);
  expect([ofB, ofA]).toEqual([[1, 3], [2]]);
  // Another attempt of the same execution has them again, another execution has none.
  expect(await run.of('b')).toEqual([1, 3]);
  expect(await run.of('b', 2)).toEqual([]);
  await run.close();
});

test('an execution that does not end leaves its notes to another one', async () => {
  await using it = await temp();
  const run = await branched(it.dir);
  await linkNote(it.dir, { ...given, text: 'any' });
  expect(await run.of('a')).toEqual([1]);
  run.release('a');
  expect(await run.of('b')).toEqual([1]);
  await run.close();
});

test('a line of the holdout in a note does not come into the prompt', async () => {
  await using it = await temp();
  const printable = async (text: string) => text.replace('a sealed line', '(left out)');
  const run = await branched(it.dir, { leaks: { printable } as never });
  await linkNote(it.dir, { ...given, text: 'Mind: a sealed line' });
  expect(await run.texts()).toEqual(['Mind: (left out)']);
  await run.close();
});
