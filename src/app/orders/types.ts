/** What the caller of an order run hands in, and how one is refused. */
import type { Spawn } from '../../core/contracts/process.ts';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Bounds, Host } from '../types.ts';

/** `code`: 1 for the state of the repository or of the files, 2 for wrong usage, 130 for an interruption. */
export type OrderRefusal = Refusal & { readonly code: number };

export const refusedOrder = (code: 1 | 2, problem: string, fix?: string): OrderRefusal => ({
  ...refused('order', problem, fix),
  code,
});

/** What applies to all orders of a command. Paths are absolute. */
export type OrderSettings = {
  readonly runsDir: string;
  /** Root of the artifact tree. */
  readonly artifacts: string;
  readonly out: string | undefined;
  readonly branch: string | undefined;
  /** The name of the branch was generated for an earlier order of the batch. */
  readonly auto?: boolean;
  readonly reuse: boolean;
  readonly create: boolean;
  readonly commit: string | undefined;
  readonly push: boolean;
  readonly allowExempt: boolean;
  /** Empty: none is known. */
  readonly model: string;
  /** Undefined: not sent. */
  readonly temperature: number | undefined;
  readonly maxAttempts: number;
  readonly timeoutSeconds: number;
  readonly agent: string | undefined;
  readonly provider?: string | undefined;
  readonly script: string | undefined;
  readonly bounds?: Bounds;
  /** The directory or plan whose orders are built one after the other. */
  readonly batch: string | null;
};

/** `takeOver`: of a resume; see `RunFlags`. */
export type OrderHost = Host & { readonly spawn: Spawn; readonly takeOver?: boolean };
