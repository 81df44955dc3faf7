/** Why an order was not started. */
import type { Diagnostic } from '../model/diagnostic.ts';

/** `code`: 1 for the state of the repository or of the files, 2 for wrong usage, 130 for an interruption. */
export type OrderRefusal = { readonly problems: readonly Diagnostic[]; readonly code: number };

export const refused = (code: 1 | 2, problem: string, fix?: string): OrderRefusal => ({
  problems: [{ code: 'order', severity: 'error', message: problem, ...(fix === undefined ? {} : { fix }) }],
  code,
});
