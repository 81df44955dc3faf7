/** The journals, checked against the checkpoint. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { marksIn, mendJournals, notAsVouched } from '../../src/store/marks.ts';
import { fence, Superseded } from '../../src/system/fence.ts';
import { temp } from '../system/temp.ts';

const line = (seq: number, more = '') => `{"seq":${seq},"epoch":1${more}}\n`;

test('journals may have grown since, and are otherwise unchanged', async () => {
  await using it = await temp();
  const path = it.at('events.jsonl');
  writeFileSync(path, line(1) + line(2));
  const vouched = await marksIn(it.dir);
  expect(Object.keys(vouched)).toEqual(['events.jsonl']);
  appendFileSync(path, line(3));
  expect(await notAsVouched(it.dir, vouched)).toEqual([]);
  for (const wrong of [line(1), line(1) + line(2, ',"more":1') + line(3), '']) {
    writeFileSync(path, wrong);
    expect(await notAsVouched(it.dir, vouched)).toEqual([path]);
  }
});

test('a pipe instead of a journal is not read', async () => {
  await using it = await temp();
  execFileSync('mkfifo', [it.at('calls.jsonl')]);
  writeFileSync(it.at('events.jsonl'), `${line(1)}{"seq":`);
  await mendJournals(it.dir);
  expect(readFileSync(it.at('events.jsonl'), 'utf8')).toBe(line(1));
});

test('a former owner does not truncate the journals of the next', async () => {
  await using it = await temp();
  const path = it.at('events.jsonl');
  writeFileSync(path, `${line(1)}{"seq":`);
  const open = fence(it.dir, () => {
    throw new Superseded();
  });
  await expect(mendJournals(it.dir)).rejects.toThrow(Superseded);
  open();
  expect(readFileSync(path, 'utf8')).toBe(`${line(1)}{"seq":`);
});
