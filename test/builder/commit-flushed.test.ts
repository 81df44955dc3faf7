import { join } from 'node:path';
import { expect, test } from 'vitest';
import { orderState } from '../../src/builder/step-context.ts';
import { noteDisk } from '../support/disk-notes.ts';
import { beginRun, folder, put, toolIo, when } from './support.ts';

test('the files of an order and its commit are flushed, with their parent folders, before anything follows', async () => {
  using it = folder();
  const begun = await beginRun({ root: it.path, workdir: undefined });
  const { io } = toolIo(begun);
  const { run, runId, env } = begun;
  const place = { workspace: run.workspace, run, runId, state: orderState({}, run.workspace) };
  put(run.workspace, { 'a.txt': 'a\n' });
  using disk = noteDisk();
  const missing = (...paths: string[]) =>
    paths.filter((path) => !disk.told.includes(`flushed ${join(run.history, path)}`));
  const { untrackedChanges: whatWasWritten } = await import('../../src/builder/untracked-changes.ts');
  const written = await whatWasWritten(place, null, ['a.txt'], io);
  if ('stage' in written) throw new Error(written.reason);
  expect(missing('objects', `objects/${written.tree.slice(0, 2)}`)).toEqual([]);
  disk.told.length = 0;
  const { commitOrder } = await import('../../src/git/commit.ts');
  const { commit } = await commitOrder({
    ...{ historyDir: run.history, workspace: run.workspace, env, parent: null, tree: written.tree },
    ...{ order: { id: 'WO-01', title: 'a' }, digest: 'd', runId, author: begun.started.author, date: when },
  });
  const names = ['.', 'index', 'refs', 'refs/factory', 'refs/heads'];
  expect(missing('objects', `objects/${commit?.slice(0, 2)}`, ...names)).toEqual([]);
});
