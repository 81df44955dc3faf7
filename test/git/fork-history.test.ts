/** The commits of a run copied for a fork. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import type { BuildState } from '../../src/core/records/build.ts';
import { baseRef, branchRef, headRef } from '../../src/core/records/layout.ts';
import { forkHistory } from '../../src/git/fork-history.ts';
import { readHistoryStart } from '../../src/git/history.ts';
import { beginRun, commitPaths, folder, git, put, repository, tree, when } from '../builder/support.ts';
import { treeOf } from '../support/house.ts';

type Begun = Awaited<ReturnType<typeof beginRun>>;

/** Commits one file of the workspace as the n-th order. */
async function order(begun: Begun, n: number, parent: string | null) {
  const { run, env, runId } = begun;
  put(run.workspace, { [`f${n}.txt`]: `${n}\n` });
  const made = await commitPaths({
    historyDir: run.history,
    workspace: run.workspace,
    env,
    parent,
    touched: [`f${n}.txt`],
    order: { id: `WO-0${n}`, title: `Step ${n}` },
    digest: String(n).repeat(64),
    runId,
    author: { name: 'A', email: 'a@example.test' },
    date: when,
  });
  if ('problem' in made || made.commit === null) throw new Error('no commit');
  return made.commit;
}

const stateWith = (head: string | null, written: string | null = null): JsonObject => ({
  order: {
    version: 1,
    digests: {},
    allow_exempt: false,
    head,
    done: [],
    current:
      written === null
        ? null
        : {
            id: 'WO-09',
            attempt: 1,
            snapshot: null,
            touched: [],
            written: { tree: written, modes: {}, hashes: {} },
            failed: null,
            brief: null,
          },
  } satisfies BuildState,
});

/** The workspace unchanged, for later. */
function keep(it: { readonly path: string }, begun: Begun, name: string): string {
  const kept = join(it.path, name);
  cpSync(begun.run.workspace, kept, { recursive: true });
  return kept;
}

const has = (dir: string, object: string): boolean => {
  try {
    git(dir, 'cat-file', '-e', object);
    return true;
  } catch {
    return false;
  }
};

test.for(['none', 'git'] as const)(
  'commits after the checkpoint are not copied, whatever the run began with (%s)',
  async (kind) => {
    using it = folder({ 'src/a.txt': 'a\n' });
    const workdir = join(it.path, 'src');
    if (kind === 'git') repository(workdir);
    if (kind === 'git') git(workdir, 'commit', '-q', '--allow-empty', '-m', 'second');
    const begun = await beginRun({ root: it.path, workdir: kind === 'none' ? undefined : workdir });
    const { history } = begun.run;
    const beginning = keep(it, begun, 'then-0');
    const one = await order(begun, 1, begun.first);
    git(history, 'tag', 'early', one);
    const after1 = keep(it, begun, 'then-1');
    const two = await order(begun, 2, one);
    git(history, 'branch', 'mine', two);
    const three = await order(begun, 3, two);
    // What a stage that runs now holds, or has left half made.
    for (const name of ['index.lock', 'factory.index', 'objects/tmp_obj_x'])
      writeFileSync(join(history, name), '');
    const before = treeOf(history);

    const to = join(it.path, 'fork/history.git');
    mkdirSync(join(it.path, 'fork'));
    await forkHistory({ from: history, to, workspace: after1, toolState: stateWith(one), env: begun.env });
    expect(treeOf(history)).toEqual(before);
    expect(git(to, 'rev-parse', headRef, branchRef, 'HEAD')).toBe(`${one}\n${one}\n${one}`);
    expect([two, three].map((commit) => has(to, commit))).toEqual([false, false]);
    const refs = git(to, 'for-each-ref', '--format=%(refname)').split('\n');
    const base = kind === 'git' ? [baseRef] : [];
    expect(refs.sort()).toEqual([...base, headRef, branchRef, 'refs/tags/early'].sort());
    expect(git(to, 'fsck', '--strict')).toBe('');
    expect(git(to, 'ls-files')).toBe(kind === 'none' ? 'f1.txt' : 'a.txt\nf1.txt');
    expect(await readHistoryStart(to)).toEqual(await readHistoryStart(history));

    // The next commit is made as it would have been.
    const workspace = after1;
    const again = await order({ ...begun, run: { ...begun.run, history: to, workspace } }, 2, one);
    expect(again).toBe(two);

    const first = join(it.path, 'first.git');
    await forkHistory({
      ...{ from: history, to: first, workspace: beginning, env: begun.env },
      toolState: undefined,
    });
    expect(has(first, one)).toBe(false);
    const stands = begun.first === null ? '' : begun.first;
    expect(git(first, 'for-each-ref', '--format=%(objectname)', headRef)).toBe(stands);
    expect(tree(beginning)).toEqual(kind === 'none' ? {} : { 'a.txt': 'a\n' });
  },
);

test('the tree of an unfinished order is kept, though no commit has it yet', async () => {
  using it = folder();
  const begun = await beginRun({ root: it.path, workdir: undefined });
  const { history, workspace } = begun.run;
  const one = await order(begun, 1, null);
  const inTree = git(history, 'rev-parse', `${one}^{tree}`);
  const to = join(it.path, 'fork.git');
  await forkHistory({ from: history, to, workspace, toolState: stateWith(null, inTree), env: begun.env });
  expect(has(to, one)).toBe(false);
  expect(has(to, inTree)).toBe(true);
  expect(git(to, 'for-each-ref')).toBe('');
});
