/** Reading the builder's own JSON files. */
import { readFile } from 'node:fs/promises';
import * as z from 'zod';

/** The file's content as `schema` says. Rejects with the path and what is wrong. */
export async function readRecord<T extends z.ZodType>(path: string, schema: T): Promise<z.infer<T>> {
  const text = await readFile(path, 'utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new Error(`${path} is not valid: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
