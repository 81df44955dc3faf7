/** Why an order was not started. */
import { type Refusal, refused } from '../factory/types.ts';

/** `code`: 1 for the state of the repository or of the files, 2 for wrong usage, 130 for an interruption. */
export type OrderRefusal = Refusal & { readonly code: number };

export const refusedOrder = (code: 1 | 2, problem: string, fix?: string): OrderRefusal => ({
  ...refused('order', problem, fix),
  code,
});
