/** The length and hash of a journal at some moment. */
import * as z from 'zod';

export const Mark = z.object({
  records: z.int().nonnegative(),
  sha256: z
    .string()
    .describe('SHA-256, hex, of the last record with the hash before it; empty for no record'),
});
export type Mark = z.infer<typeof Mark>;

/** With its length in bytes, so that a writer can continue without reading it again. */
export const JournalMark = Mark.extend({ bytes: z.int().nonnegative() });
export type JournalMark = z.infer<typeof JournalMark>;
