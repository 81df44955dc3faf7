/** Expands the shorthand of case files: generated texts, bytes and tokens. */

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Expands `{ $repeat, count, prefix, suffix }` and `{ $concat: [...] }`; `{ $base64 }` becomes bytes. */
export function expand(value) {
  if (Array.isArray(value)) return value.map(expand);
  if (!isObject(value)) return value;
  if (typeof value.$repeat === 'string') {
    const { $repeat, count = 1, prefix = '', suffix = '' } = value;
    return expand(prefix) + $repeat.repeat(count) + expand(suffix);
  }
  if (Array.isArray(value.$concat)) return value.$concat.map(expand).join('');
  if (typeof value.$base64 === 'string') return Buffer.from(value.$base64, 'base64');
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item)]));
}

/** Replaces tokens in every string of a value, keys too; `pattern` has the token's name as its first group. */
export function fill(value, pattern, values) {
  if (typeof value === 'string')
    return value.replace(pattern, (whole, name) => (Object.hasOwn(values, name) ? values[name] : whole));
  if (Array.isArray(value)) return value.map((item) => fill(item, pattern, values));
  if (!isObject(value) || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [fill(key, pattern, values), fill(item, pattern, values)]),
  );
}
