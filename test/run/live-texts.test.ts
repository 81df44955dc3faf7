/** The texts of running nodes, for those who watch from another process. */
import { expect, test } from 'vitest';
import type { RunEvent } from '../../src/core/events.ts';
import { liveTextReader, openLiveTexts } from '../../src/run/live-texts.ts';
import { temp } from '../platform/temp.ts';

const nobody = { event() {}, streamed() {}, output() {}, spent() {} };

/** Acts: `+a` begins node a, `-a` ends it, `a:text` is printed by it, `a~text` is said by its model, `.` the time goes on. */
async function shownAfter(acts: string, readsBefore: readonly number[] = []): Promise<string> {
  await using it = await temp();
  let tick = () => {};
  const live = openLiveTexts(it.dir, { now: () => new Date(0) }, (_ms, act) => {
    tick = act;
    return () => {
      tick = () => {};
    };
  });
  const watcher = live.watching(nobody);
  const reader = liveTextReader(it.dir);
  const visits = new Map<string, number>();
  const read: string[] = [];
  const look = () =>
    read.push(
      ...reader
        .read()
        .map(({ text: { node, visit, text }, begins }) => `${begins ? '|' : ''}${node}${visit}:${text}`),
    );
  for (const [at, act] of acts.split(' ').entries()) {
    if (readsBefore.includes(at)) look();
    const [, sign, node = '', how, text = ''] = /^([+-])?(\w*)(?:([:~])(\w+))?\.?$/.exec(act) ?? [];
    if (act === '.') tick();
    else if (sign === '+') visits.set(node, (visits.get(node) ?? 0) + 1);
    const visit = visits.get(node);
    if (sign !== undefined)
      watcher.event({
        type: sign === '+' ? 'StageStarted' : 'StageCompleted',
        node_id: node,
        visit,
      } as RunEvent);
    else if (how === ':') watcher.output(node, text, 'stdout');
    else if (how === '~') watcher.streamed(node, text, 'answer');
  }
  look();
  reader.close();
  await live.close();
  return read.join(' ');
}

test.for<readonly [string, string]>([
  // One after another: each replaces the one before.
  ['+a a:x a:y', '|a1:x a1:y'],
  ['+a a:x -a +b b:y', '|b1:y'],
  ['+a a:x -a +a a:y', '|a2:y'],
  ['+a a:x +a a:y', '|a2:y'],
  ['+a a~x a~y .', '|a1:xy'],
  ['+a a~x +a a~y .', '|a2:y'],
  ['a:x +a b:y a:z', '|a1:z'],
  // Side by side: each text is one of its own node, and pieces of answers do not mix.
  ['+a +b a:x b:y a:z', '|a1:x |b1:y a1:z'],
  ['+a +b a~x b~y a~z b~u .', '|a1:xz |b1:yu'],
  ['+a +b a:x b:y -a +c c:z', '|a1:x |b1:y |c1:z'],
  ['+a +b a:x -a +a a:y b:z', '|a1:x |a2:y |b1:z'],
  ['+a +b a~x -a +c .', '|a1:x'],
  ['+a +b a:x b:y -a -b +join join:z', '|join1:z'],
])('%s gives %s', async ([acts, texts]) => {
  expect(await shownAfter(acts)).toBe(texts);
});

test('a reader that looks often sees every text once, and where each execution begins', async () => {
  const acts = '+a +b a:x b:y -a +c c:z b:u -b -c +d d:v';
  const all = acts.split(' ').map((_, n) => n);
  expect(await shownAfter(acts, all)).toBe('|a1:x |b1:y |c1:z b1:u |d1:v');
});
