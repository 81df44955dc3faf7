/** Reading the builder's own JSON files. */
import { readFile, stat } from 'node:fs/promises';
import * as z from 'zod';

/** A file that is there and does not say what it should; the message names it. */
export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord';
}

/** The file's content as `schema` says. Rejects with the system's error, or with a DamagedRecord. */
export async function readRecord<T extends z.ZodType>(path: string, schema: T): Promise<z.infer<T>> {
  // A pipe would be waited for for ever.
  if (!(await stat(path)).isFile()) throw new DamagedRecord(`${path} is not a file`);
  const text = await readFile(path, 'utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new DamagedRecord(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new DamagedRecord(`${path} is not valid: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
