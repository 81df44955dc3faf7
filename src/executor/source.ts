/** Work orders as files. */
import { readFile, stat } from 'node:fs/promises';
import { checkOrder, type LoadedOrder } from '../builder/orders.ts';
import { said } from '../builder/scope.ts';
import type { JsonObject } from '../model/json.ts';
import { sha256 } from '../model/sha256.ts';
import { isCode, unreadable } from '../system/files.ts';
import { type OrderRefusal, refusedOrder } from './refusal.ts';

/** A work order that was read from a file. */
export type OrderSource = {
  readonly path: string;
  readonly sha256: string;
  readonly raw: JsonObject;
  readonly loaded: LoadedOrder;
};

/** Bytes. */
const limit = 10_485_760;

/** The work order of a file. A pipe can be read, unless it was `listed` in a directory. */
export async function readSource(path: string, listed?: 'listed'): Promise<OrderSource | OrderRefusal> {
  let bytes: Buffer;
  let raw: unknown;
  try {
    if (listed === 'listed' && !(await stat(path)).isFile())
      return refusedOrder(1, `the work order ${path} is not a file`, 'name a work order, a JSON file');
    bytes = await readFile(path);
    if (bytes.length > limit) return refusedOrder(1, `${path} is larger than 10 MiB`);
    raw = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return refusedOrder(
      1,
      `the work order ${path} cannot be read: ${isSystems(error) ? unreadable(error) : said(error)}`,
      'name a work order, a JSON file',
    );
  }
  if (!isObject(raw)) return refusedOrder(1, `${path} is not a work order: it is not a JSON object`);
  if ('work_orders' in raw)
    return refusedOrder(1, `${path} is a plan`, 'name a work order, or a directory of them to order run-all');
  // Whether an order may be exempt is decided before its run.
  const loaded = checkOrder({ from: path, value: raw, alone: true }, { allowExempt: true });
  if ('problem' in loaded) return refusedOrder(1, loaded.problem);
  return { path, sha256: sha256(bytes), raw, loaded };
}

const isSystems = (error: unknown): boolean =>
  isCode(error, 'ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM');

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
