/** A text that a line of the journal names. */
import * as z from 'zod';
import { once } from '../once.ts';

export const textHash = once(() =>
  z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('SHA-256, hex'),
);

/** A text, or where it is long its name in the content store. */
export const bodySchema = once(() =>
  z.union([z.string(), z.strictObject({ sha256: textHash(), bytes: z.int() })]),
);
export type Body = z.infer<ReturnType<typeof bodySchema>>;
