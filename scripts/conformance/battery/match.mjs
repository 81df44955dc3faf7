/** Conditions of a case on a value: the value itself, or an object of operators. */
import { same, short } from '../compare.mjs';

const many = (value) => (Array.isArray(value) ? value : [value]);
const typeOf = (value) =>
  value === undefined ? 'missing' : value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
const has = (value, part) =>
  typeof value === 'string'
    ? value.includes(part)
    : Array.isArray(value) && value.some((item) => same(item, part));
const got = (value) => `got ${short(value)}`;
const unless = (holds, reason) => (holds ? null : reason());

/** Each returns null if it holds, else the problem. */
const operators = {
  $eq: (v, x) => unless(same(v, x), () => `expected ${short(x)}, ${got(v)}`),
  $ne: (v, x) => unless(!same(v, x), () => `expected anything but ${short(x)}`),
  $in: (v, x) =>
    unless(
      x.some((y) => same(v, y)),
      () => `expected one of ${short(x)}, ${got(v)}`,
    ),
  $trimEq: (v, x) =>
    unless(typeof v === 'string' && v.trim() === x.trim(), () => `expected ${short(x)}, ${got(v)}`),
  $contains: (v, x) => first(x, (y) => unless(has(v, y), () => `expected to find ${short(y)}, ${got(v)}`)),
  $icontains: (v, x) =>
    first(x, (y) =>
      unless(
        typeof v === 'string' && v.toLowerCase().includes(y.toLowerCase()),
        () => `expected to find ${short(y)} in any case, ${got(v)}`,
      ),
    ),
  $lacks: (v, x) => first(x, (y) => unless(!has(v, y), () => `expected not to find ${short(y)}, ${got(v)}`)),
  $matches: (v, x) =>
    unless(
      typeof v === 'string' && new RegExp(x, 'm').test(v),
      () => `expected a match of /${x}/, ${got(v)}`,
    ),
  $type: (v, x) =>
    unless(
      many(x).includes(typeOf(v)),
      () => `expected a value of type ${many(x).join(' or ')}, got ${typeOf(v)}`,
    ),
  $exists: (v, x) =>
    unless((v !== undefined) === x, () => (x ? 'expected a value, got none' : `expected none, ${got(v)}`)),
  $len: (v, x) => unless(v?.length === x, () => `expected length ${x}, got ${v?.length}`),
  $maxLen: (v, x) => unless(v?.length <= x, () => `expected at most length ${x}, got ${v?.length}`),
  $gte: (v, x) => unless(typeof v === 'number' && v >= x, () => `expected at least ${x}, ${got(v)}`),
  $lte: (v, x) => unless(typeof v === 'number' && v <= x, () => `expected at most ${x}, ${got(v)}`),
  $keys: (v, x) =>
    first(x, (key) =>
      unless(typeof v === 'object' && v !== null && key in v, () => `expected the key ${key}, ${got(v)}`),
    ),
  $setEq: (v, x) =>
    unless(
      Array.isArray(v) && v.length === x.length && x.every((y) => has(v, y)),
      () => `expected the set ${short(x)}, ${got(v)}`,
    ),
  $isoTime: (v) =>
    unless(
      typeof v === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(v) && !Number.isNaN(Date.parse(v)),
      () => `expected an ISO time, ${got(v)}`,
    ),
  $emptyish: (v) =>
    unless(v === null || v === undefined || v.length === 0, () => `expected nothing, ${got(v)}`),
};

function first(items, test) {
  for (const item of many(items)) {
    const wrong = test(item);
    if (wrong !== null) return wrong;
  }
  return null;
}

/** null if the value meets the condition, else the expected and the actual value. */
export function mismatch(value, condition) {
  const keys =
    typeof condition === 'object' && condition !== null && !Array.isArray(condition)
      ? Object.keys(condition)
      : [];
  if (keys.length === 0 || !keys.every((key) => key.startsWith('$'))) return operators.$eq(value, condition);
  for (const key of keys) {
    const operator = operators[key];
    const wrong = operator === undefined ? `the operator ${key} is unknown` : operator(value, condition[key]);
    if (wrong !== null) return wrong;
  }
  return null;
}

/** The value at slash-separated keys; undefined if there is none. */
export function dig(value, path) {
  if (path === undefined || path === '') return value;
  let here = value;
  for (const key of String(path).split('/')) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = Array.isArray(here) ? here[Number(key)] : Object.hasOwn(here, key) ? here[key] : undefined;
  }
  return here;
}

/** Whether a record has every value of `where`; `$any` searches its whole text. */
export const fits = (record, where = {}) =>
  Object.entries(where).every(([key, condition]) =>
    key === '$any' ? has(JSON.stringify(record), condition) : mismatch(dig(record, key), condition) === null,
  );
