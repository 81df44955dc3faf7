/** A record's own value of a key: a node may be called `constructor`, which every object seems to have. */
export const own = <T>(record: { readonly [key: string]: T }, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;
