/** What a node may change in the workspace. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { failed, type Outcome, succeeded } from '../../../src/core/outcome.ts';
import { layout } from '../../../src/core/records/layout.ts';
import type { Executed, LayerContext } from '../../../src/engine/layers/layer.ts';
import { scope } from '../../../src/engine/layers/scope.ts';
import { openSnapshots } from '../../../src/workspace/snapshots.ts';
import { temp } from '../../platform/temp.ts';
import { make } from '../../workspace/folders.ts';
import { rig } from './rig.ts';

/** How a node ends that leaves `files` where the workspace was { kept: 'x' }; `wrote` is what is there in the end. */
async function judged(
  dir: string,
  attributes: string,
  files: Parameters<typeof make>[1],
  more: {
    executed?: Partial<Executed>;
    hidden?: Partial<LayerContext['hidden']>;
    signal?: AbortSignal;
    inputs?: string[];
  } = {},
) {
  const at = layout(dir);
  make(at.workspace, { kept: 'x' });
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: false });
  const before = await snapshots.take();
  const hidden = { paths: [], made: [], sealed: [], ...more.hidden };
  const node = await rig(dir, attributes, {
    ...(more.signal === undefined ? {} : { signal: more.signal }),
    run: { inputFiles: more.inputs ?? [], env: { API_KEY: 'verysecret1' } },
    parts: { snapshots, before, hidden },
  });
  const executed = await node.through(scope, async () => {
    make(at.workspace, files);
    return { outcome: succeeded(), snapshot: await snapshots.take(before), ...more.executed };
  });
  await node.close();
  return { ...executed, events: node.events, kept: readFileSync(`${at.workspace}/kept`, 'utf8') };
}
const tool = 'shape=parallelogram, allowed_write_paths="out/"';
const violation = (paths: string, more = '') =>
  expect.stringMatching(new RegExp(`^guardrail_violation: wrote disallowed files: ${paths}${more}$`));

test('a change inside the scope stays, and one outside fails the node and is restored', async () => {
  await using it = await temp();
  expect(await judged(it.dir, tool, { 'out/a': '1' })).toMatchObject({
    outcome: { status: 'success' },
    events: [],
  });
  const wrong = await judged(it.dir, tool, { kept: 'y', 'out/b': '2' });
  expect(wrong).toMatchObject({
    outcome: { status: 'fail', class: 'guardrail', broke: false, reason: violation('kept') },
    events: [{ type: 'GuardrailViolation', paths: ['kept'] }],
    kept: 'x',
  });
  expect([...wrong.snapshot.tree.keys()]).toContain('out/b');
});

test.for<[string, Parameters<typeof judged>[3], string, string?]>([
  [
    'at paths hidden from the agent',
    { hidden: { paths: ['kept'] } },
    'kept',
    ' \\(1 of them at paths hidden from the agent\\)',
  ],
  [
    'in place of hidden files',
    { hidden: { made: ['gone'] } },
    'gone',
    ' \\(1 of them at paths hidden from the agent\\)',
  ],
  ['at sealed paths', { hidden: { sealed: ['s'] } }, 's', ' \\(1 of them at sealed paths\\)'],
  [
    'to a file variable',
    { inputs: ['kept'] },
    'kept',
    ' \\(1 of them files given to the run as variables\\)',
  ],
  [
    'by a node that also broke',
    { inputs: ['kept'], executed: { outcome: failed('no', 'agent', { broke: true }) } },
    'kept',
    '.*\\(the node also failed: no\\)',
  ],
  [
    'as copies of holdout files',
    {
      executed: {
        holdout: {
          removed: { broken: [], blocked: ['up'], linked: false, touched: [] },
          copies: () => ['kept'],
        },
      },
    },
    'kept,up',
    ' \\(1 of them in place of a folder above a sealed path, 1 of them copies of sealed files\\)',
  ],
])('without a scope too, nothing is written %s', async ([, more, paths, why]) => {
  await using it = await temp();
  const { outcome, kept } = await judged(it.dir, 'shape=parallelogram', { kept: 'y' }, more);
  expect(outcome).toMatchObject({ class: 'guardrail', reason: violation(paths, why) });
  expect(kept).toBe(paths.startsWith('kept') ? 'x' : 'y');
});

test('the file for an answer is in the scope, whatever that is', async () => {
  await using it = await temp();
  const answer = await judged(it.dir, 'shape=box, response_file="kept", allowed_write_paths="out/"', {
    kept: 'y',
  });
  expect(answer).toMatchObject({ outcome: { status: 'success' }, kept: 'y' });
});

test('a pipe outside the scope is a violation, a socket is what an ended program leaves behind', async () => {
  await using it = await temp();
  const strays = [
    { path: 'pipe', isSocket: false },
    { path: 'socket', isSocket: true },
  ];
  const { outcome } = await judged(it.dir, tool, {}, { executed: { strays } });
  expect(outcome).toMatchObject({ reason: violation('pipe') });
});

test('a workspace that could not be recorded fails the node, without secrets in the reason', async () => {
  await using it = await temp();
  const { outcome } = await judged(
    it.dir,
    tool,
    {},
    { executed: { unreadable: 'cannot read "verysecret1"' } },
  );
  expect(outcome).toMatchObject({
    class: 'guardrail',
    broke: true,
    reason: 'cannot read "***"; everything that the node wrote was undone',
  });
});

test('a cancelled attempt keeps its outcome, and what it wrote is restored all the same', async () => {
  await using it = await temp();
  const signal = AbortSignal.abort('SIGINT');
  const ended = await judged(it.dir, tool, { kept: 'y' }, { signal });
  expect(ended).toMatchObject({ outcome: { status: 'success' }, events: [], kept: 'x' });
});

test('the partial work of an agent that was stopped is named', async () => {
  await using it = await temp();
  const outcome: Outcome = failed('it was silent', 'stalled', { broke: true });
  const ended = await judged(it.dir, 'shape=box', { more: '1' }, { executed: { outcome } });
  expect(ended.outcome).toMatchObject({
    reason: `it was silent; its partial work (1 changed file) is snapshot ${ended.snapshot.id}`,
  });
  expect(existsSync(`${layout(it.dir).node('a')}/stalled.json`)).toBe(true);
});
