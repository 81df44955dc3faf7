/** Values that survive a trip through a JSON file. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Names what a switch over a union forgot; the compiler then lists every place to touch. */
export function unreachable(value: never): never {
  throw new Error(`Internal: unexpected value ${JSON.stringify(value)}`);
}
