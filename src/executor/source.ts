/** Work orders as files: one order, or a plan that holds several. */
import { readFile, stat } from 'node:fs/promises';
import { checkOrder, isOneOrder, type LoadedOrder } from '../builder/orders.ts';
import { said } from '../builder/scope.ts';
import type { JsonObject } from '../model/json.ts';
import { sha256 } from '../model/sha256.ts';
import { isCode, unreadable } from '../system/files.ts';
import { type OrderRefusal, refused } from './refusal.ts';

/** A work order that was read from a file. */
export type OrderSource = {
  readonly path: string;
  readonly sha256: string;
  readonly raw: JsonObject;
  readonly loaded: LoadedOrder;
};

/** Bytes. */
const limit = 10_485_760;

/** The orders of a file: one of a work order, all of a plan. A pipe can be read, unless it was `listed` in a directory. */
export async function readSources(
  path: string,
  listed?: 'listed',
): Promise<readonly OrderSource[] | OrderRefusal> {
  let bytes: Buffer;
  let value: unknown;
  try {
    if (listed === 'listed' && !(await stat(path)).isFile())
      return refused(1, `the work order ${path} is not a file`, 'name a work order, a JSON file');
    bytes = await readFile(path);
    if (bytes.length > limit) return refused(1, `${path} is larger than 10 MiB`);
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return refused(
      1,
      `the work order ${path} cannot be read: ${isSystems(error) ? unreadable(error) : said(error)}`,
      'name a work order, a JSON file',
    );
  }
  const list = isOneOrder(value) ? [value] : listOf(value);
  if (list === undefined || list.length === 0) return refused(1, `${path} holds no work order`);
  const sources: OrderSource[] = [];
  for (const [n, raw] of list.entries()) {
    const from = list.length === 1 ? path : `${path} (work order ${n + 1})`;
    if (!isObject(raw)) return refused(1, `${from} is not a work order: it is not a JSON object`);
    // Whether an order may be exempt is decided before its run.
    const loaded = checkOrder({ from, value: raw, alone: true }, { allowExempt: true });
    if ('problem' in loaded) return refused(1, loaded.problem);
    sources.push({ path, sha256: sha256(bytes), raw, loaded });
  }
  return sources;
}

const isSystems = (error: unknown): boolean =>
  isCode(error, 'ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM');

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function listOf(value: unknown): readonly unknown[] | undefined {
  const list = isObject(value) ? value['work_orders'] : undefined;
  return Array.isArray(list) ? list : undefined;
}
