/** The work orders of a workspace, in the order in which they are carried out. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { JsonObject } from '../model/json.ts';
import { inWorkspace } from '../model/layout.ts';
import { sha256 } from '../model/sha256.ts';
import { provenanceSchema, type WorkOrder, workOrderSchema } from '../model/work-order.ts';
import { isMissing } from '../system/files.ts';
import { readPlain } from '../system/read.ts';
import { howToAllow, judgeExemption } from './exemption.ts';
import { said } from './scope.ts';

export type LoadedOrder = {
  readonly order: WorkOrder;
  /** Hash of the order without its provenance: equal orders have equal digests. */
  readonly digest: string;
  /** Where it was read from, for messages. */
  readonly from: string;
};

type Raw = {
  readonly from: string;
  /** The file, if a planner's declaration in it can be checked. */
  readonly path?: string;
  readonly value: unknown;
  readonly alone?: true;
  /** An order that was added for failed scenarios. */
  readonly mends?: true;
};
type Loaded = { readonly orders: readonly LoadedOrder[] } | { readonly problem: string };

/** Reads `.factory/orders/WO-*.json` in numeric order; without any, the input `plan`: a compiled plan, or a folder of
 *  orders. `allowExempt`: an order may be exempt from verification without a planner's declaration. */
export async function loadOrders(
  workspace: string,
  options: { readonly allowExempt: boolean },
): Promise<Loaded> {
  try {
    const planned = await findRaw(workspace);
    if (planned.length === 0) {
      return {
        problem: `there are no work orders: neither ${inWorkspace.orders}/WO-*.json nor a plan in ${inWorkspace.inputs}/plan.json; compile a plan first, or pass one with --var plan=FILE`,
      };
    }
    const raw = [...planned, ...(await fixOrders(workspace))];
    const orders: LoadedOrder[] = [];
    for (const one of raw) {
      const checked = checkOrder(one, options);
      if ('problem' in checked) return checked;
      const exempt = await exemptionProblem(one, checked, options.allowExempt);
      if (exempt !== undefined) return { problem: exempt };
      const same = orders.find((other) => other.order.id === checked.order.id);
      if (same !== undefined) return { problem: `${one.from} and ${same.from} are both ${checked.order.id}` };
      orders.push(checked);
    }
    return { orders };
  } catch (error) {
    return { problem: said(error) };
  }
}

async function findRaw(workspace: string): Promise<Raw[]> {
  const compiled = await fromFolder(join(workspace, inWorkspace.orders), inWorkspace.orders);
  if (compiled.length > 0) return compiled;
  for (const name of [`${inWorkspace.inputs}/plan.json`, `${inWorkspace.inputs}/plan`]) {
    const kind = await kindOf(join(workspace, name));
    if (kind === 'file') return fromPlan(workspace, name);
    if (kind !== 'folder') continue;
    const orders = await fromFolder(join(workspace, name), name);
    if (orders.length > 0) return orders;
    const manifest = `${name}/WORK_ORDERS_MANIFEST.json`;
    if ((await kindOf(join(workspace, manifest))) === 'file') {
      return fromPlan(workspace, manifest);
    }
  }
  return [];
}

/** The orders that were added for failed scenarios, `.factory/orders/FIX-*.json`; they follow those of the plan. */
async function fixOrders(workspace: string): Promise<Raw[]> {
  const folder = join(workspace, inWorkspace.orders);
  const names = await readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  return Promise.all(
    names
      .filter((file) => /^FIX-\d{2,}\.json$/.test(file))
      .sort((a, b) => Number(a.slice(4, -5)) - Number(b.slice(4, -5)))
      .map(async (file) => ({
        from: `${inWorkspace.orders}/${file}`,
        path: join(folder, file),
        value: await readJson(join(folder, file), `${inWorkspace.orders}/${file}`),
        mends: true as const,
      })),
  );
}

async function kindOf(path: string): Promise<'file' | 'folder' | undefined> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function fromFolder(folder: string, name: string): Promise<Raw[]> {
  const names = await orderFiles(folder).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  return Promise.all(
    names.map(async (file) => ({
      from: `${name}/${file}`,
      path: join(folder, file),
      value: await readJson(join(folder, file), `${name}/${file}`),
    })),
  );
}

/** Names of the files `WO-*.json` of a folder, sorted by number (those without a number last), then by name. */
export async function orderFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  const numbered = names
    .filter((file) => /^WO-.*\.json$/.test(file))
    .map((file) => ({ file, number: Number(/^WO-(\d+)/.exec(file)?.[1] ?? 999_999) }))
    .sort((a, b) => a.number - b.number || (a.file < b.file ? -1 : 1));
  return numbered.map(({ file }) => file);
}

/** Whether a plan is a single work order. */
export const isOneOrder = (plan: unknown): boolean =>
  typeof plan === 'object' && plan !== null && !Array.isArray(plan) && !('work_orders' in plan);

async function fromPlan(workspace: string, name: string): Promise<Raw[]> {
  const path = join(workspace, name);
  const plan = await readJson(path, name);
  if (isOneOrder(plan)) return [{ from: name, value: plan, alone: true }];
  const parsed = z.object({ work_orders: z.array(z.unknown()) }).safeParse(plan);
  if (!parsed.success)
    throw new Error(`${name} is neither a work order nor a plan with a list "work_orders"`);
  return parsed.data.work_orders.map((value, at) => ({
    from: `${name} (work order ${at + 1})`,
    path,
    value,
  }));
}

/** Why an order may not be exempt: the order or its manifest is not what the planner wrote. An order that was passed alone
 *  has been checked by the command that passed it. */
async function exemptionProblem(
  raw: Raw,
  { order }: LoadedOrder,
  allowed: boolean,
): Promise<string | undefined> {
  if (!order.verify_exempt || raw.path === undefined) return undefined;
  const judged = await judgeExemption(raw.value as JsonObject, raw.path, { allowed }); // It reads as a work order.
  return 'problem' in judged ? judged.problem : undefined;
}

async function readJson(path: string, name: string): Promise<unknown> {
  try {
    const read = readPlain(path);
    if (read.kind === 'text') return JSON.parse(read.text);
    throw new Error(read.kind === 'missing' ? 'it does not exist' : `it ${read.why}`);
  } catch (error) {
    throw new Error(`${name} cannot be read as JSON: ${said(error)}`);
  }
}

/** Validates one order. The id of an order that was passed alone is not limited to WO-NN. */
export function checkOrder(
  raw: Raw,
  options: { readonly allowExempt: boolean },
): LoadedOrder | { readonly problem: string } {
  const parsed = workOrderSchema().safeParse(raw.value);
  if (!parsed.success) {
    return {
      problem: `${raw.from} is not a valid work order: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`,
    };
  }
  const order = parsed.data;
  const prefix = raw.mends === true ? 'FIX' : 'WO';
  const fits = raw.alone === true ? /^[^\s\p{C}][^\p{C}]{0,99}$/u : new RegExp(`^${prefix}-\\d{2,}$`);
  if (!fits.test(order.id))
    return { problem: `${raw.from} has the id ${JSON.stringify(order.id)}, not ${prefix}-NN` };
  if (raw.mends === true && !raw.from.endsWith(`/${order.id}.json`))
    return { problem: `${raw.from} holds ${order.id}: file name and id must agree` };
  const named = raw.alone === true ? undefined : /\/wo-(\d+)[^/]*\.json$/i.exec(raw.from)?.[1];
  if (named !== undefined && Number(named) !== Number(order.id.slice(3))) {
    return { problem: `${raw.from} holds ${order.id}: file name and id must agree` };
  }
  if (order.verify_exempt && !options.allowExempt && !isBootstrap(raw.value)) {
    return {
      problem: `${raw.from} asks not to be verified (verify_exempt) without a planner's declaration (provenance.bootstrap); ${howToAllow}`,
    };
  }
  return { order, digest: digestOf(order), from: raw.from };
}

/** Only a planner may exempt an order, and it must name its run. */
function isBootstrap(value: unknown): boolean {
  const provenance = z
    .object({ provenance: provenanceSchema().pick({ planner_run_id: true, bootstrap: true }) })
    .safeParse(value);
  return provenance.success && provenance.data.provenance.bootstrap;
}

/** Keys are sorted, so that their order in the file does not matter. */
const digestOf = (order: WorkOrder): string =>
  sha256(JSON.stringify(Object.fromEntries(Object.entries(order).sort(([a], [b]) => (a < b ? -1 : 1)))));
