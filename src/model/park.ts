/** Suspended runs: they wait for a quota, a provider that is down, a key or a paid bill, and can be resumed. */

import * as z from 'zod';
import { once } from './once.ts';

export const parkKinds = ['quota', 'outage', 'auth', 'billing'] as const;
export type ParkKind = (typeof parkKinds)[number];

/** Why a failed call suspends the run. `wakeAtMs`: when the quota is available again, in milliseconds since 1970.
 *  `within`: a run that the node started is suspended. `unsaid`: a rate limit of unknown length; it may end at once.
 *  `waitedMs`: what the agent itself has waited for the end of an outage. */
export type Park = {
  readonly kind: ParkKind;
  readonly wakeAtMs?: number;
  readonly within?: true;
  readonly unsaid?: true;
  readonly waitedMs?: number;
};

export const pausedWords = ['paused_quota', 'paused_outage', 'paused_auth', 'paused_billing'] as const;
export type PausedWord = (typeof pausedWords)[number];

export const pausedBy = (kind: ParkKind): PausedWord => `paused_${kind}`;

export const isPaused = (status: string): status is PausedWord => pausedWords.some((word) => word === status);

export const parkedSchema = once(() =>
  z
    .object({
      status: z.enum(pausedWords),
      node: z.string().describe('The node whose call failed; a resume executes it again'),
      reason: z.string(),
      wake_at: z.string().nullable().describe('RFC 3339; null if waiting does not help'),
      since: z.string(),
      again: z.int().exactOptional().describe('How often it was resumed without any node finishing since'),
    })
    .describe('Why and until when a run is suspended'),
);
export type Parked = z.infer<ReturnType<typeof parkedSchema>>;

const timed: readonly string[] = [pausedBy('quota'), pausedBy('outage')];

/** Whether waiting helps, so that `--wait` resumes the run. */
export const endsByTime = (status: string): boolean => timed.includes(status);
