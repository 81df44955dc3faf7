/** What agents answered, in the journal and the content store. */
import { expect, test } from 'vitest';
import { ContentStore } from '../../src/contents/store.ts';
import type { ExchangeFacts } from '../../src/core/records/journal.ts';
import { layout } from '../../src/core/records/layout.ts';
import { makeFolder } from '../../src/platform/files/write.ts';
import { bodiesIn, exchangeLog } from '../../src/run/exchanges.ts';
import { temp } from '../platform/temp.ts';
import { damageContent } from '../support/run-texts.ts';

test('a long text is in the content store, once, and checked against its hash; a short one is in the line', async () => {
  await using it = await temp();
  const { contents } = layout(it.dir);
  makeFolder(contents);
  const lines: ExchangeFacts[] = [];
  const log = exchangeLog(new ContentStore(contents), (line) => void lines.push(line));
  const text = 'long “text” '.repeat(1000);
  const body = await log.body(text);
  expect(await log.body(text)).toEqual(body);
  expect(await log.body('short')).toBe('short');
  expect(bodiesIn(it.dir)('short')).toBe('short');
  expect(bodiesIn(it.dir)(body)).toBe(text);
  if (typeof body === 'string') throw new Error('the text is in the line');
  expect(body.bytes).toBe(Buffer.byteLength(text));
  damageContent(it.dir, body.sha256);
  expect(() => bodiesIn(it.dir)(body)).toThrow(body.sha256);
});
