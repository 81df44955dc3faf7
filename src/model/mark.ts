/** The length and hash of a journal at some moment. */

import * as z from 'zod';
import { once } from './once.ts';

export const markSchema = once(() =>
  z.object({
    records: z.int().nonnegative(),
    sha256: z
      .string()
      .describe('SHA-256, hex, of the last record with the hash before it; empty for no record'),
  }),
);
export type Mark = z.infer<ReturnType<typeof markSchema>>;

/** With its length in bytes, so that a writer can continue without reading it again. */
export const journalMarkSchema = once(() => markSchema().extend({ bytes: z.int().nonnegative() }));
export type JournalMark = z.infer<ReturnType<typeof journalMarkSchema>>;
