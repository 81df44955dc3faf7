/** Values that can be written to a JSON file and read back unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Ends a switch over a union: the compiler reports a forgotten variant. */
export function unreachable(value: never): never {
  throw new Error(`Internal: unexpected value ${JSON.stringify(value)}`);
}

/** Deepest nesting of objects and lists in a record. Values reported by nodes may have fewer levels, since they become
 *  part of a record. */
const mostLevels = 1000;
export const mostGivenLevels = 900;

/** As `JSON.parse`, but throws for a value nested so deeply that a recursive walk would exhaust the stack. */
export function parseJson(text: string, most = mostLevels): unknown {
  const value: unknown = JSON.parse(text);
  if (mayBeDeep(text, most) && levelsOf(value) > most)
    throw new Error(`it has more than ${most} levels of objects and lists`);
  return value;
}

/** An upper bound: brackets in strings count too. */
function mayBeDeep(text: string, most: number): boolean {
  if (text.length <= most * 2) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x7b || code === 0x5b) {
      if (++depth > most) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

function levelsOf(value: unknown): number {
  let levels = 0;
  for (let row = [value]; row.length > 0; levels++)
    row = row.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  return levels;
}
