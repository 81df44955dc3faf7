/** Which lines of a text a pattern matches. A pattern comes from a model: it may never end. */
import { createContext, Script } from 'node:vm';

/** Milliseconds that a pattern may take for one file, and for all of them. */
const fileMs = 1_000;
const allMs = 5_000;

/** The lines (from 1) of a text that match, `undefined` when the pattern takes too long. */
export type Matcher = (text: string, most: number) => readonly { line: number; text: string }[] | undefined;

/** A matcher, or what is wrong with the pattern. `elapsed` tells milliseconds. */
export function matcher(
  pattern: string,
  how: { readonly regex: boolean; readonly ignoreCase: boolean },
  elapsed: () => number,
): Matcher | { readonly problem: string } {
  if (pattern === '') return { problem: 'the pattern is empty' };
  const source = how.regex ? pattern : pattern.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  let found: RegExp;
  try {
    found = new RegExp(source, how.ignoreCase ? 'iu' : 'u');
  } catch {
    try {
      // Without "u" more is allowed: `\-`, `{` as itself.
      found = new RegExp(source, how.ignoreCase ? 'i' : '');
    } catch (error) {
      return {
        problem: `the pattern is no regular expression: ${error instanceof Error ? error.message : ''}`,
      };
    }
  }
  const began = elapsed();
  const within = inTime();
  return (text, most) => {
    const left = allMs - (elapsed() - began);
    if (left <= 0) return undefined;
    const hits: { line: number; text: string }[] = [];
    const scan = () => {
      let number = 0;
      for (const line of text.split('\n')) {
        number += 1;
        if (!found.test(line)) continue;
        hits.push({ line: number, text: line.replace(/\r$/, '') });
        if (hits.length >= most) return;
      }
    };
    if (!how.regex) {
      scan();
      return hits;
    }
    return within(scan, Math.min(fileMs, left)) ? hits : undefined;
  };
}

const call = new Script('work()');

/** Runs functions of ours that may be stuck in a regular expression, which nothing else can stop; false when one was. */
function inTime(): (work: () => void, ms: number) => boolean {
  const world: { work: () => void } = { work: () => {} };
  const context = createContext(world);
  return (work, ms) => {
    world.work = work;
    try {
      call.runInContext(context, { timeout: Math.max(1, Math.ceil(ms)) });
      return true;
    } catch (error) {
      if (isTimeout(error)) return false;
      throw error;
    }
  };
}

// It is no `Error` of ours: it comes from the other context.
const isTimeout = (error: unknown): boolean =>
  typeof error === 'object' &&
  error !== null &&
  'code' in error &&
  error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
