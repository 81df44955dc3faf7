/** Reads the builder's JSON files. */
import * as z from 'zod';
import { readPlain } from './read.ts';

/** A file that exists but is not what factory wrote; the message names it. */
export class BadJsonRecord extends Error {
  override readonly name = 'BadRecord';
}

/** The file's content, checked against `schema`. Rejects with the system's error, or with a BadRecord. */
export async function readJsonRecord<T extends z.ZodType>(path: string, schema: T): Promise<z.infer<T>> {
  const found = readPlain(path);
  if (found.kind === 'missing')
    throw Object.assign(new Error(`${path} does not exist`), { code: 'ENOENT', path });
  if (found.kind === 'none') throw new BadJsonRecord(`${path} ${found.why}`);
  const { text } = found;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new BadJsonRecord(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new BadJsonRecord(`${path} is not valid: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
