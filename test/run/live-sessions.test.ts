/** The files by which sessions grow. */
import { appendFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { SessionLine } from '../../src/core/records/session.ts';
import { cutText, liveSessionOf, openLiveSessions, removeLiveSessions } from '../../src/run/live-sessions.ts';
import { temp } from '../platform/temp.ts';

const one = { node: 'a', visit: 1 };
const text = (words: string): SessionLine => ({ type: 'text', text: words });

test('each execution has its file, until it has ended; a start replaces what another try had', async () => {
  await using it = await temp();
  const sessions = openLiveSessions(it.dir);
  sessions.add(one, { type: 'start', agent: 'codex' });
  sessions.add(one, text('x'));
  sessions.add({ node: 'b', visit: 2 }, text('y'));
  expect(liveSessionOf(it.dir, one)).toEqual([{ type: 'start', agent: 'codex' }, text('x')]);
  sessions.add(one, { type: 'start', agent: 'claude' });
  expect(liveSessionOf(it.dir, one)).toEqual([{ type: 'start', agent: 'claude' }]);
  sessions.end(one);
  expect(liveSessionOf(it.dir, one)).toBeUndefined();
  expect(liveSessionOf(it.dir, { node: 'b', visit: 2 })).toEqual([text('y')]);
  sessions.close();
  expect(existsSync(it.at('.sessions'))).toBe(false);
});

test('what another owner has left is removed, and a run without agents has no folder', async () => {
  await using it = await temp();
  openLiveSessions(it.dir).add(one, text('x'));
  removeLiveSessions(it.dir);
  expect(existsSync(it.at('.sessions'))).toBe(false);
  openLiveSessions(it.dir).close();
  removeLiveSessions(it.dir);
  expect(existsSync(it.at('.sessions'))).toBe(false);
});

test('a line that is being written, one that is damaged and a link are not read', async () => {
  await using it = await temp();
  openLiveSessions(it.dir).add(one, text('é'));
  appendFileSync(it.at('.sessions/a@1.jsonl'), '{"type":"dance"}\nnot JSON\n{"type":"te');
  expect(liveSessionOf(it.dir, one)).toEqual([text('é')]);
  mkdirSync(it.at('.sessions'), { recursive: true });
  writeFileSync(it.at('secret'), `${JSON.stringify(text('secret'))}\n`);
  symlinkSync(it.at('secret'), it.at('.sessions/c@1.jsonl'));
  expect(liveSessionOf(it.dir, { node: 'c', visit: 1 })).toBeUndefined();
});

test('a session without a folder to write to loses its lines and nothing else', async () => {
  await using it = await temp();
  writeFileSync(it.at('.sessions'), '');
  const sessions = openLiveSessions(it.dir);
  expect(sessions.add(one, text('x'))).toBe(0);
  sessions.close();
});

test.for<readonly [string, number, string]>([
  ['abcdef', 6, 'abcdef'],
  ['abcdefgh', 4, 'ab\n[… 4 characters are not shown …]\ngh'],
  ['a😀bcdefg😀h', 4, 'a\n[… 8 characters are not shown …]\nh'],
])('"%s" of at most %i characters is cut in its middle, at whole characters', ([whole, most, cut]) => {
  expect(cutText(whole, most)).toBe(cut);
});
