/** How much of a journal somebody vouches for. */
import * as z from 'zod';

export const Mark = z.object({
  records: z.int().nonnegative(),
  sha256: z
    .string()
    .describe('Each record hashed with the hash before it: SHA-256, hex; empty for no record'),
});
export type Mark = z.infer<typeof Mark>;
