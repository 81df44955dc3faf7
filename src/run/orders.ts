/** The work orders of a workspace, in the order in which they are carried out. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import { errorText } from '../core/diagnostic.ts';
import { canonicalHash, isObject, type Json, type JsonObject } from '../core/json.ts';
import { once } from '../core/once.ts';
import { provenanceSchema, type WorkOrder, workOrderSchema } from '../core/orders/work-order.ts';
import { inWorkspace } from '../core/records/layout.ts';
import { sha256 } from '../core/sha256.ts';
import { readPlain } from '../platform/files/read.ts';
import { isMissing } from '../platform/files/write.ts';

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
  readonly fixes?: true;
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
    return { problem: errorText(error) };
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
        fixes: true as const,
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
const isOneOrder = (plan: unknown): boolean =>
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
    throw new Error(`${name} cannot be read as JSON: ${errorText(error)}`);
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
  const prefix = raw.fixes === true ? 'FIX' : 'WO';
  const fits = raw.alone === true ? /^[^\s\p{C}][^\p{C}]{0,99}$/u : new RegExp(`^${prefix}-\\d{2,}$`);
  if (!fits.test(order.id))
    return { problem: `${raw.from} has the id ${JSON.stringify(order.id)}, not ${prefix}-NN` };
  if (raw.fixes === true && !raw.from.endsWith(`/${order.id}.json`))
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

/** Decides whether an order may skip the verification of the whole project: by the user's flag, or by a planner's
 *  declaration that can be checked. */
export type Exemption = { readonly ok: true; readonly note?: string } | { readonly problem: string };

const declarationSchema = once(() =>
  z.object({
    planner_run_id: z.string().min(1),
    bootstrap: z.literal(true),
    manifest_sha256: z.string().optional(),
  }),
);

const howToAllow = 'pass --allow-verify-exempt (to a pipeline: --var exempt=allow) to allow it';

/** The manifest that a planner writes next to its orders. */
const manifestName = 'WORK_ORDERS_MANIFEST.json';

/** Decides about an order with `verify_exempt`. `path` is the file it was read from: a manifest of the plan, or an order
 *  next to one. The manifest must contain the order unchanged, and must have the hash that the planner recorded. An order
 *  that names no hash and has no manifest next to it is accepted, with a note. */
export async function judgeExemption(
  raw: JsonObject,
  path: string,
  options: { readonly allowed: boolean },
): Promise<Exemption> {
  if (options.allowed) return { ok: true };
  const declared = declarationSchema().safeParse(raw['provenance']);
  const id = typeof raw['id'] === 'string' ? raw['id'] : 'the work order';
  const request = `${id} asks not to be verified (verify_exempt)`;
  if (!declared.success)
    return {
      problem: `${request} without a planner's declaration (provenance with planner_run_id and bootstrap); ${howToAllow}`,
    };
  const manifest = await manifestOf(path);
  if (manifest === undefined) {
    return declared.data.manifest_sha256 === undefined
      ? {
          ok: true,
          note: `${request}; this cannot be checked: it names no manifest, and there is none next to it`,
        }
      : {
          problem: `${request}, but there is no ${manifestName} next to it to check the planner's declaration; ${howToAllow}`,
        };
  }
  if ('problem' in manifest) return { problem: `${request}, but ${manifest.problem}; ${howToAllow}` };
  const orders = manifest.orders.map(unsigned);
  const { system_overview = [], verify_contract = null } = manifest.plan;
  const hash = canonicalHash({ system_overview, verify_contract, work_orders: orders });
  if (hash !== declared.data.manifest_sha256)
    return {
      problem: `${request}, but ${manifest.name} is not the one that the planner signed (manifest_sha256); ${howToAllow}`,
    };
  const own = canonicalHash(unsigned(raw));
  if (!orders.some((order) => canonicalHash(order) === own))
    return { problem: `${request}, but ${manifest.name} does not contain it unchanged; ${howToAllow}` };
  return { ok: true };
}

function unsigned(order: JsonObject): JsonObject {
  const { provenance: _, ...rest } = order;
  return rest;
}

type Manifest = {
  readonly name: string;
  readonly plan: JsonObject;
  readonly orders: readonly JsonObject[];
};

/** The manifest at `path`; if that is an order, the manifest next to it. */
async function manifestOf(path: string): Promise<Manifest | { readonly problem: string } | undefined> {
  const own = await readPlan(path);
  if (own !== undefined && !('problem' in own)) return own;
  return readPlan(join(dirname(path), manifestName));
}

async function readPlan(path: string): Promise<Manifest | { readonly problem: string } | undefined> {
  let plan: Json;
  try {
    plan = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (isMissing(error)) return undefined;
    return { problem: `${path} cannot be read as JSON` };
  }
  const list = isObject(plan) ? plan['work_orders'] : undefined;
  if (!isObject(plan) || !Array.isArray(list)) return { problem: `${path} has no list "work_orders"` };
  return { name: basename(path), plan, orders: list.filter(isObject) };
}
