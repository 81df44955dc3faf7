/** Runs that wait for something outside: a quota, a key, a paid bill. They are not finished. */
import * as z from 'zod';

export const parkKinds = ['quota', 'auth', 'billing'] as const;
export type ParkKind = (typeof parkKinds)[number];

/** What a failed call waits for. `wakeAtMs`: when a quota is there again, in milliseconds since 1970. `within`: it is a run
 *  of the stage's own that waits. `unsaid`: a rate limit of which nobody says how long it lasts; it may be over at once. */
export type Park = {
  readonly kind: ParkKind;
  readonly wakeAtMs?: number;
  readonly within?: true;
  readonly unsaid?: true;
};

export const pausedWords = ['paused_quota', 'paused_auth', 'paused_billing'] as const;
export type PausedWord = (typeof pausedWords)[number];

export const pausedBy = (kind: ParkKind): PausedWord => `paused_${kind}`;

export const isPaused = (status: string): status is PausedWord => pausedWords.some((word) => word === status);

export const Parked = z
  .object({
    status: z.enum(pausedWords),
    node: z.string().describe('Whose call could not be made; it is visited again'),
    reason: z.string(),
    wake_at: z.string().nullable().describe('RFC 3339; null where waiting mends nothing'),
    since: z.string(),
    again: z
      .int()
      .exactOptional()
      .describe('How often it was woken in vain before, with no stage ended in between'),
  })
  .describe('A run that waits for a quota, a key or a paid bill');
export type Parked = z.infer<typeof Parked>;
