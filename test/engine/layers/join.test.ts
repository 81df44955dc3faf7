import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Outcome, succeeded } from '../../../src/core/outcome.ts';
import type { RunState } from '../../../src/core/records/checkpoint.ts';
import type { BranchEnd, Cursor, Fork } from '../../../src/core/records/fork.ts';
import { layout } from '../../../src/core/records/layout.ts';
import { joinLayer } from '../../../src/engine/layers/join.ts';
import type { LayerContext } from '../../../src/engine/layers/layer.ts';
import { openSnapshots } from '../../../src/workspace/snapshots.ts';
import { freshState } from '../../support/graph.ts';
import { make, picture, tempFolder, type Wanted } from '../../workspace/folders.ts';
import { rig } from './rig.ts';

const ok: BranchEnd = { ok: true, status: 'completed', reason: '', class: null };
const failing: BranchEnd = { ok: false, status: 'failed', reason: 'tests fail', class: 'product' };

type BranchOf = {
  readonly gone?: readonly string[];
  readonly files?: Wanted;
  readonly end?: BranchEnd;
  readonly context?: RunState['context'];
  readonly origins?: RunState['origins'];
  readonly notes?: string;
};

/** The join `a` of these branches, in a workspace that began with these files. `fanOut`: the attributes of the fan-out. */
async function joining(
  branches: Readonly<Record<string, BranchOf>>,
  more: {
    readonly attributes?: string;
    readonly base?: Wanted;
    readonly state?: Partial<RunState>;
    readonly sealed?: readonly string[];
  } = {},
) {
  const it = tempFolder();
  const dir = join(it.path, 'run');
  const at = layout(dir);
  mkdirSync(at.workspace, { recursive: true });
  make(at.workspace, more.base ?? { 'a.txt': 'a\nb\nc\nd\n', 'lib/x': 'x' });
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents });
  const base = await snapshots.take();
  const cursors: Record<string, Cursor> = {};
  for (const [
    id,
    { gone = [], files = {}, end = ok, context = {}, origins = {}, notes = '' },
  ] of Object.entries(branches)) {
    const folder = join(it.path, id);
    await snapshots.checkout(base.id, folder);
    for (const path of gone) rmSync(join(folder, path), { recursive: true });
    make(folder, files);
    const { id: snapshot } = await snapshots.ofFolder(folder).take();
    cursors[id] = {
      ...{ context, origins, next_node: 'a', arrived: null, last_failure: null, last_completed_node: id },
      ...{ last_outcome: succeeded({ notes }), snapshot, nodes: [id], ended: end },
    };
  }
  const fork: Fork = { node: 'b', join: 'a', base: base.id, step: 1, branches: cursors };
  const state: RunState = { ...freshState('a'), snapshot: base.id, ...more.state, fork };
  const paths = more.sealed ?? [];
  const sealed = {
    paths,
    committed: false,
    files: () => [],
    isSealed: (path: string) => paths.includes(path),
    seal: (text: string) => Buffer.from(text),
  };
  const one = await rig(dir, more.attributes ?? 'shape=tripleoctagon', {
    ...{ snapshots, snapshot: base, parts: { state } },
    run: { workspace: at.workspace, env: process.env, ...(more.sealed === undefined ? {} : { sealed }) },
  });
  return {
    ...one,
    at: (path: string) => join(at.node('a'), path),
    json: (path: string): unknown => JSON.parse(readFileSync(join(at.node('a'), path), 'utf8')),
    now: () => picture(at.workspace),
    was: picture(at.workspace),
    /** Joins; the node itself does what `inner` says. */
    join: (
      inner: (context: LayerContext) => Promise<Outcome> = async ({ state: { last_outcome } }) =>
        last_outcome ?? succeeded(),
    ) =>
      one.through(joinLayer, async (context) => ({
        outcome: await inner(context),
        snapshot: context.before,
      })),
    async [Symbol.asyncDispose]() {
      await one.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

const lines = (text: readonly string[]): string => text.join('\n');

test('the files of the branches come into the workspace before the node runs, and are its changes', async () => {
  await using it = await joining({
    one: { files: { 'a.txt': 'A\nb\nc\nd\n', new: 'n' } },
    two: { files: { 'a.txt': 'a\nb\nc\nD\n' }, gone: ['lib'] },
  });
  let seen = '';
  const { outcome, snapshot } = await it.join(async ({ run, before }) => {
    seen = `${readFileSync(join(run.workspace, 'a.txt'), 'utf8')} ${[...before.tree.keys()].join(' ')}`;
    return succeeded();
  });
  expect(seen).toBe('A\nb\nc\nD\n a.txt new');
  expect(outcome.status).toBe('success');
  expect([...snapshot.tree.keys()]).toEqual(['a.txt', 'new']);
  expect(it.json('workspace.diff.json')).toEqual({
    created: ['new'],
    modified: ['a.txt'],
    deleted: ['lib/x'],
  });
  expect(it.json('join.json')).toMatchObject({
    fan_out: 'b',
    merged: [{ branch: 'one' }, { branch: 'two' }],
    conflicts: [],
  });
});

test('a conflict merges nothing, fails as a product, and keeps each side', async () => {
  await using it = await joining({
    one: { files: { 'a.txt': 'one\n', new: 'n' } },
    two: { files: { 'a.txt': 'two\n' } },
    three: { files: { 'lib/x': 'y' } },
  });
  const ran: string[] = [];
  const { outcome, context, snapshot } = await it.join(async () => {
    ran.push('ran');
    return succeeded();
  });
  expect([ran, lines(it.now())]).toEqual([[], lines(it.was)]);
  expect(outcome).toMatchObject({ status: 'fail', class: 'product', broke: false });
  expect(outcome).toMatchObject({
    reason: 'the branches conflict in 1 path, nothing was merged: a.txt (both change the same lines)',
  });
  expect(context?.['parallel.conflicts']).toEqual(['a.txt']);
  expect(context?.['parallel.fan_in.best_id']).toBe('one');
  expect(['b', 'one', 'two'].map((id) => readFileSync(it.at(`conflicts/${id}/a.txt`), 'utf8'))).toEqual([
    'a\nb\nc\nd\n',
    'one\n',
    'two\n',
  ]);
  expect(existsSync(it.at('conflicts/one/new'))).toBe(false);
  expect([...snapshot.tree.keys()]).toEqual(['a.txt', 'lib', 'lib/x']);
});

test('the node runs with the context of the join, and its notes begin with what has failed', async () => {
  await using it = await joining(
    {
      one: {
        context: { plan: 'P', old: 1, 'internal.retry_count.one': 2 },
        origins: { plan: 'agent' },
        notes: 'did it',
      },
      two: { end: failing, context: { old: 1 } },
    },
    {
      attributes: 'shape=tripleoctagon, merge_context="plan"',
      state: {
        context: {
          old: 1,
          'parallel.results': 'earlier',
          'parallel.results.gone.x': 1,
          'parallel.conflicts': [],
        },
      },
    },
  );
  let seen: LayerContext | undefined;
  const { outcome, context, joined } = await it.join(async (inner) => {
    seen = inner;
    return succeeded({ notes: 'all good' });
  });
  expect(outcome.notes).toBe('failed: two (product: tests fail); succeeded: one\nall good');
  expect(seen?.state.last_outcome?.status).toBe('partial_success');
  const { 'parallel.results': results, ...keys } = seen?.state.context ?? {};
  expect(keys).toEqual({
    ...{ old: 1, plan: 'P', 'internal.retry_count.one': 2 },
    ...{ 'parallel.results.one.plan': 'P', 'parallel.results.one.outcome': 'success' },
    'parallel.results.two.outcome': 'fail',
    ...{ 'parallel.fan_in.best_id': 'one', 'parallel.fan_in.best_outcome': 'success' },
  });
  expect(results).toMatchObject([
    { id: 'one', notes: 'did it' },
    { id: 'two', reason: 'tests fail' },
  ]);
  expect(context).toEqual(seen?.state.context);
  expect(joined?.origins).toEqual({ plan: 'agent' });
});

test('where the join fails the node does not run, and the workspace stays', async () => {
  await using it = await joining(
    { one: { files: { new: '1' } }, two: { end: failing } },
    { attributes: 'shape=tripleoctagon, join_policy=all_success' },
  );
  const { outcome } = await it.join(() => Promise.reject(new Error('ran')));
  expect(outcome).toMatchObject({ status: 'fail', class: 'product' });
  expect(lines(it.now())).toBe(lines(it.was));
});

test('with merge=none the files of the branches stay out', async () => {
  await using it = await joining(
    { one: { files: { new: '1' } } },
    { attributes: 'shape=tripleoctagon, merge=none' },
  );
  expect((await it.join()).outcome.status).toBe('success');
  expect(lines(it.now())).toBe(lines(it.was));
});

test.for([
  ['shape=tripleoctagon, allowed_write_paths="lib/"', undefined, 'new', false],
  ['shape=tripleoctagon, allowed_write_paths="new"', undefined, 'new', true],
  ['shape=tripleoctagon', ['new'], 'new', false],
  ['shape=tripleoctagon', ['new/sealed'], 'new', false],
  ['shape=tripleoctagon', ['other'], 'new', true],
] as const)(
  'a join with %s and the sealed paths %j merges %s: %s',
  async ([attributes, sealed, path, merges]) => {
    const branches = { one: { files: { [path]: '1' } } };
    await using it = await joining(branches, { attributes, ...(sealed === undefined ? {} : { sealed }) });
    const { outcome } = await it.join();
    expect(lines(it.now()) === lines(it.was)).toBe(!merges);
    if (merges) return expect(outcome.status).toBe('success');
    expect(outcome).toMatchObject({ status: 'fail', class: 'guardrail' });
    expect(it.events).toContainEqual(expect.objectContaining({ type: 'GuardrailViolation', paths: [path] }));
  },
);

test('changes that a person has accepted meanwhile are merged as those of a branch', async () => {
  await using it = await joining({ one: { files: { 'a.txt': 'A\nb\nc\nd\n' } } });
  make(it.context.run.workspace, { 'a.txt': 'a\nb\nc\nD\n', mine: 'm' });
  const before = await it.context.snapshots.take();
  const { snapshot } = await joinLayer(async (inner) => ({ outcome: succeeded(), snapshot: inner.before }))(
    it.context.with({ before }),
  );
  expect(readFileSync(join(it.context.run.workspace, 'a.txt'), 'utf8')).toBe('A\nb\nc\nD\n');
  expect([...snapshot.tree.keys()]).toEqual(['a.txt', 'lib', 'lib/x', 'mine']);
});

test('a node in which no branches meet, and the exit of a call, run as ever', async () => {
  await using it = await joining({ one: { files: { new: '1' } } });
  const { fork } = it.context.state;
  for (const open of [undefined, { ...fork, join: 'other' }, { ...fork, call: true }]) {
    const state = { ...it.context.state, fork: open } as RunState;
    const executed = await joinLayer(async ({ before }) => ({ outcome: succeeded(), snapshot: before }))(
      it.context.with({ state }),
    );
    expect(executed).toEqual({ outcome: succeeded(), snapshot: it.context.before });
  }
});

test('secrets in the sides of a conflict and in what it says of them are masked', async () => {
  const token = 'tok-4711-verysecret';
  await using it = await joining({
    one: { files: { 'a.txt': `${token}\n` } },
    two: { files: { 'a.txt': 'two\n' } },
  });
  const run = { ...it.context.run, env: { ...process.env, API_TOKEN: token } };
  await joinLayer(async ({ before }) => ({ outcome: succeeded(), snapshot: before }))(
    it.context.with({ run }),
  );
  expect(readFileSync(it.at('conflicts/one/a.txt'), 'utf8')).not.toContain(token);
});
