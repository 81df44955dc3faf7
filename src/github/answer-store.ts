/** Answers of GitHub that are kept between commands: a file each, which only this user can read. */
import { join } from 'node:path';
import * as z from 'zod';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import { sha256 } from '../core/sha256.ts';
import { readPlain } from '../platform/files/read.ts';
import { makeFolder, writeFileAtomic } from '../platform/files/write.ts';
import type { AnswerStore, KeptAnswer } from './client.ts';

const keptSchema = once(() =>
  z.object({
    url: z.string(),
    etag: z.string(),
    body: z.unknown(),
    next: z.string().optional(),
  }),
);

/** A file that cannot be read is no answer; it is asked for and written again. */
export function answersIn(folder: string): AnswerStore {
  const fileOf = (url: string) => join(folder, `${sha256(url)}.json`);
  return {
    get(url) {
      const read = readPlain(fileOf(url));
      const kept = read.kind === 'text' ? keptSchema().safeParse(jsonIn(read.text)).data : undefined;
      return kept?.url === url ? kept : undefined;
    },
    async set(url, answer: KeptAnswer) {
      makeFolder(folder);
      await writeFileAtomic(fileOf(url), JSON.stringify({ url, ...answer }), { mode: 0o600 });
    },
  };
}
