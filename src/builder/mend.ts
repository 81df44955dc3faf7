/** Adds a work order to the plan that fixes what holdout scenarios found wrong with the finished product. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { maxContextFiles, type WorkOrder } from '../core/orders/work-order.ts';
import type { BuildState } from '../core/records/build.ts';
import { inWorkspace } from '../core/records/layout.ts';
import { filesInside } from '../platform/files/inside.ts';
import { checkOrder } from '../run/orders.ts';
import { type Build, writeBuildState } from './build-state.ts';
import type { StepContext } from './step-context.ts';

/** The product's failures, which the scenario node reports in the context key `judge.failures`. */
const failuresSchema = once(() => z.array(z.object({ scenario: z.string(), said: z.string() })).min(1));

export type OrderFix =
  | { readonly order: WorkOrder; readonly number: number; readonly state: BuildState }
  | { readonly usedUp: number }
  | { readonly problem: string };

const isFix = (id: string): boolean => /^FIX-\d{2,}$/.test(id);

/** Adds the order `FIX-NN` to the build, unless there are already `most` of them. It may write the files that the plan's
 *  orders may, has their acceptance commands, and states what the scenarios expected and observed. */
export async function createFixOrder(
  place: Pick<StepContext, 'workspace' | 'state'>,
  build: Build,
  repair: { readonly failures: unknown; readonly most: number },
): Promise<OrderFix> {
  const parsed = failuresSchema().safeParse(repair.failures);
  if (!parsed.success)
    return {
      problem:
        'there is nothing to fix: no node has reported failures of the product in judge.failures (factory scenario run does)',
    };
  const planned = build.orders.filter((one) => !isFix(one.order.id)).map((one) => one.order);
  const made = build.orders.length - planned.length;
  if (made >= repair.most) return { usedUp: made };
  const id = `FIX-${String(made + 1).padStart(2, '0')}`;
  const order = fixOrder(id, planned, parsed.data);
  const file = `${inWorkspace.orders}/${id}.json`;
  const checked = checkOrder({ from: file, value: order, fixes: true }, { allowExempt: false });
  if ('problem' in checked) return checked;
  await filesInside(place.workspace).write(file, `${JSON.stringify(order, null, 2)}\n`);
  // With its digest recorded, an order that another program adds or changes is refused.
  const state = {
    ...build.state,
    digests: { ...build.state.digests, [id]: checked.digest },
    current: null,
  };
  await writeBuildState(place, state);
  return { order: checked.order, number: made + 1, state };
}

function fixOrder(
  id: string,
  planned: readonly WorkOrder[],
  failures: z.infer<ReturnType<typeof failuresSchema>>,
): WorkOrder {
  const once = (lists: readonly (readonly string[])[]): string[] => [...new Set(lists.flat())];
  const allowed = once(planned.map((order) => order.allowed_files));
  const promised = once(planned.map((order) => order.postconditions.map(({ path }) => path)));
  // A path that one order may not write may be another's work: only what all orders forbid is forbidden.
  const [first, ...others] = planned;
  const forbidden = (first?.forbidden ?? []).filter((entry) =>
    others.every((order) => order.forbidden.includes(entry)),
  );
  const shown = once(planned.map((order) => order.context_files)).filter((path) => !allowed.includes(path));
  return {
    id,
    title: 'Fix failed behaviour checks',
    intent: [
      'The finished product failed checks of its behaviour that were written from the specification alone. Expected and',
      'observed:',
      '',
      ...failures.map(({ said: text }) => (text === '' ? 'A check failed without output.' : text)),
      '',
      'Find the cause and fix the behaviour in general; an answer that fits only the inputs named here is wrong.',
    ].join('\n'),
    preconditions: [],
    postconditions: promised.map((path) => ({ kind: 'file_exists' as const, path })),
    allowed_files: allowed,
    forbidden,
    acceptance_commands: once(planned.map((order) => order.acceptance_commands)),
    context_files: shown.slice(0, maxContextFiles),
    notes: null,
    verify_exempt: false,
  };
}
