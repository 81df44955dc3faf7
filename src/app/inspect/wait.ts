/** What a run, an execution or a branch waits for: one shape for all of them. */
import * as z from 'zod';
import { once } from '../../core/once.ts';
import { type PausedWord, type SuspendedRun, waitCauses } from '../../core/outcome.ts';

/** `retry`, `rate_limit` and `outage` also within a run; `time` is a node that waits; `slot` is a branch that has not begun. */
export const waitReasons = [
  ...(['rate_limit', 'retry', 'outage', 'time', 'slot', 'answer'] as const),
  ...(['quota', 'auth', 'billing', 'disk', 'cap'] as const),
] as const;
export type WaitReason = (typeof waitReasons)[number];

export const waitSchema = once(() =>
  z.object({
    for: z.enum(waitReasons),
    attempt: z
      .int()
      .nullable()
      .describe('The number of the attempt that follows; null where none is counted'),
    of: z.int().nullable().describe('The last attempt that there may be; null where only time limits them'),
    cause: z.string().describe('Why, in words; empty where that is withheld'),
    since: z.string().describe('RFC 3339, UTC'),
    until: z
      .string()
      .nullable()
      .describe('RFC 3339, UTC: the next try, or the end; null if no time is known'),
  }),
);
export type Wait = z.infer<ReturnType<typeof waitSchema>>;

const reasons = {
  paused_quota: 'quota',
  paused_outage: 'outage',
  paused_auth: 'auth',
  paused_billing: 'billing',
  paused_disk: 'disk',
  paused_answer: 'answer',
  paused_wait: 'time',
  paused_cap: 'cap',
} as const satisfies Readonly<Record<PausedWord, WaitReason>>;

/** The wait of a suspended run or branch. */
export function waitOfSuspension(
  status: PausedWord,
  { reason, wake_at, since, again = 0 }: Pick<SuspendedRun, 'reason' | 'wake_at' | 'since' | 'again'>,
): Wait {
  const isTried = status === 'paused_quota' || status === 'paused_outage';
  return {
    ...{ for: reasons[status], attempt: isTried ? again + 2 : null, of: null },
    ...{ cause: reason, since, until: wake_at },
  };
}

const waitEventSchema = once(() =>
  z.discriminatedUnion('type', [
    z.object({
      type: z.enum(['CallRetrying', 'StageRetrying']),
      at: z.iso.datetime(),
      attempt: z.int().optional(),
      of: z.int().optional(),
      cause: z.enum(waitCauses).default('retry'),
      reason: z.string().catch(''),
      delay_ms: z.number(),
    }),
    z.object({
      type: z.literal('StageWaiting'),
      at: z.iso.datetime(),
      until: z.iso.datetime(),
      reason: z.string().catch(''),
    }),
  ]),
);

/** The wait that an event begins; undefined for any other event. */
export function waitInEvent(event: { readonly type?: unknown }): Wait | undefined {
  const { type } = event;
  if (type !== 'CallRetrying' && type !== 'StageRetrying' && type !== 'StageWaiting') return undefined;
  const { data } = waitEventSchema().safeParse(event);
  if (data === undefined) return undefined;
  const { at: since, reason: cause } = data;
  if (data.type === 'StageWaiting')
    return { for: 'time', attempt: null, of: null, cause, since, until: data.until };
  const until = new Date(Date.parse(since) + data.delay_ms).toISOString();
  return { for: data.cause, attempt: data.attempt ?? null, of: data.of ?? null, cause, since, until };
}

/** Whether a wait until then is not over. */
export const isAhead = (until: string | null, now: Date): boolean =>
  until !== null && Date.parse(until) > now.getTime();
