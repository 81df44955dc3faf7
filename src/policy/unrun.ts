/** Tests that are still there, and that nobody runs any more. */
import type { FileChange, Pair } from './tampering.ts';
import type { Assertion, TestCode } from './test-code.ts';

/** A test function that lost what makes it one (its annotation, its name's beginning), and that nobody calls. */
export function isUncalled(test: string, { after = '' }: FileChange): boolean {
  if (!/^\w+$/.test(test)) return false;
  const uses = after.match(new RegExp(`\\b[A-Za-z_]{0,12}${test}[ \\t]*(?:\\(|$)`, 'gim')) ?? [];
  return uses.length === 1 && !isQuoted(test, after);
}

const functions = /^\s*(?:async\s+)?(?:def|func|fn|fun|function)\s+(\w+)|\bvoid\s+(\w+)\s*\(/;

/** Whether what a test checked stands in a function of a new name, which is none of a test and which nobody calls. What has
 *  a mark above it may be called by that. */
export function isDisguised(
  test: string,
  its: readonly Assertion[],
  is: TestCode,
  { before = '', after = '' }: FileChange,
): boolean {
  const keys = new Set(its.map(({ key }) => key));
  const lines = after.split('\n');
  return is.assertions.some(({ key, line }) => {
    if (!keys.has(key)) return false;
    const at = lines.slice(0, line - 1).findLastIndex((one) => functions.test(one));
    const found = functions.exec(lines[at] ?? '');
    const name = found?.[1] ?? found?.[2] ?? '';
    if (name === '' || is.tests.has(name) || /^\s*[@[#]/.test(lines[at - 1] ?? '')) return false;
    const named = new RegExp(`\\b${name}\\b`, 'g');
    return !named.test(before) && after.match(named)?.length === 1 && !isQuoted(test, after);
  });
}

const isQuoted = (name: string, text: string): boolean =>
  ['"', "'", '`'].some((sign) => text.includes(`${sign}${name}${sign}`));

/** Names of files that runners look for. */
const looked =
  /(?:^|\/)(?:test_[^/]*|[^/]*_test)\.py$|_(?:test|spec)\.rb$|_test\.exs$|[.-](?:test|spec)\.[cm]?[jt]sx?$/;

/** The file to which tests have moved that no runner finds there by its name. */
export function unseenIn(was: TestCode, path: string, pairs: readonly Pair[]): string | undefined {
  if (was.tests.size === 0 || !looked.test(path)) return undefined;
  const has = ({ is }: Pair) => [...was.tests.keys()].every((name) => is?.tests.has(name) === true);
  const holders = pairs.filter((pair) => pair.path !== path && has(pair));
  return holders.some((pair) => looked.test(pair.path)) ? undefined : holders[0]?.path;
}
