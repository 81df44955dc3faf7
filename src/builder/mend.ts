/** What a judge found wrong with the finished product becomes one more work order of the plan. */
import { join } from 'node:path';
import * as z from 'zod';
import { inWorkspace } from '../model/layout.ts';
import { maxContextFiles, type WorkOrder } from '../model/work-order.ts';
import { writeJson } from '../system/files.ts';
import type { Build } from './build.ts';
import { checkOrder } from './orders.ts';
import { type Books, type BuildState, writeState } from './state.ts';

/** What the judge's stage tells of the product's failures, in the context key `judge.failures`. */
const Failures = z.array(z.object({ scenario: z.string(), said: z.string() })).min(1);

export type Mend =
  | { readonly order: WorkOrder; readonly number: number; readonly state: BuildState }
  | { readonly usedUp: number }
  | { readonly problem: string };

const isMending = (id: string): boolean => /^FIX-\d{2,}$/.test(id);

/** Adds `FIX-NN` to the build and writes it down, unless `most` of them have been made. The order may write what the
 *  plan's orders may, and is accepted by what they are accepted by; it is told what the judge expected and observed. */
export async function mend(
  books: Books,
  build: Build,
  wanted: { readonly failures: unknown; readonly most: number },
): Promise<Mend> {
  const parsed = Failures.safeParse(wanted.failures);
  if (!parsed.success)
    return {
      problem:
        'there is nothing to mend: no stage has said in judge.failures what the product does wrong (factory scenario run does)',
    };
  const planned = build.orders.filter((one) => !isMending(one.order.id)).map((one) => one.order);
  const made = build.orders.length - planned.length;
  if (made >= wanted.most) return { usedUp: made };
  const id = `FIX-${String(made + 1).padStart(2, '0')}`;
  const order = mending(id, planned, parsed.data);
  const file = `${inWorkspace.orders}/${id}.json`;
  const checked = checkOrder({ from: file, value: order, mends: true }, { allowExempt: false });
  if ('problem' in checked) return checked;
  await writeJson(join(books.workspace, file), order);
  // Its digest is known from here on: an order that anybody else adds, or changes, is refused.
  const state = {
    ...build.state,
    digests: { ...build.state.digests, [id]: checked.digest },
    current: null,
  };
  await writeState(books, state);
  return { order: checked.order, number: made + 1, state };
}

function mending(id: string, planned: readonly WorkOrder[], failures: z.infer<typeof Failures>): WorkOrder {
  const once = (lists: readonly (readonly string[])[]): string[] => [...new Set(lists.flat())];
  const allowed = once(planned.map((order) => order.allowed_files));
  const promised = once(planned.map((order) => order.postconditions.map(({ path }) => path)));
  // What one order is forbidden may be the work of another: only what all are forbidden binds.
  const [first, ...others] = planned;
  const forbidden = (first?.forbidden ?? []).filter((entry) =>
    others.every((order) => order.forbidden.includes(entry)),
  );
  const shown = once(planned.map((order) => order.context_files)).filter((path) => !allowed.includes(path));
  return {
    id,
    title: 'Mend what the judge found',
    intent: [
      'The finished product was judged by checks of its behaviour, made from the specification alone. This is what they',
      'expected and what they observed:',
      '',
      ...failures.map(({ said }) => (said === '' ? 'A check failed without a word.' : said)),
      '',
      'Find the cause and mend the behaviour in general; an answer that fits only the inputs named here is wrong.',
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
