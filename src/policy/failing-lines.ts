/** Recognises the lines of a program's output that say what failed, by words and marks that test runners, compilers and
 *  logs share. Pure. */

/** What a line says of a failure: `headline` names one, `evidence` has its cause or its values, `place` where it is;
 *  `frame` is a stack frame in code of others, `passed` reports a success. */
export type Says = 'headline' | 'evidence' | 'place' | 'frame' | 'passed' | 'nothing';

const failingMark = '[✖✗✘✕×❌⨯●]';
const passingMark = '[✔✓√☑✅]';

/** `ok 3 - rejects an error` and `test fails_early ... ok` are successes whatever their names are. */
const passed = new RegExp(
  `^\\s*(?:ok\\b|${passingMark}|PASS(?:ED)?\\b|-+ PASS\\b)|(?:\\.\\.\\. ?|\\s)(?:ok|PASSED|passed|PASS)\\s*(?:\\[[^\\]]*\\]|\\([^)]*\\))?\\s*$`,
);

const failureWords = 'fail(?:s|ed|ing|ures?)?|errors?|panics?|problems?|exceptions?';
/** Counts of nothing: `0 failed`, `no errors`, `failures=0`, `fail 0`. */
const noFailure = new RegExp(
  `\\b(?:0|no|without)\\s+(?:\\w+\\s+)?(?:${failureWords})\\b|\\b(?:${failureWords})\\s*[:=]?\\s*0\\b(?![.:])`,
  'gi',
);

const headlines: readonly RegExp[] = [
  // The line begins with the word, after marks at most: `not ok 3`, `--- FAIL: TestAdd`, `ERROR: x`, `error[E0308]: x`.
  /^[\W_]*(?:not ok|fail(?:ed|ure)?|fatal|panic|traceback|unhandled|uncaught)\b/i,
  // An indented `error: x` is a field of a report.
  /^[\W_]*(?:Error|ERROR)\b|^error\b/,
  new RegExp(`^\\s*${failingMark}`),
  // In capitals anywhere: `test adds ... FAILED`, `12:01:07 ERROR no column`.
  /\b(?:FAIL(?:ED|URE)?|ERROR|FATAL|PANIC|CRITICAL)\b/,
  /\bpanicked at\b/,
  // After a place: `a.c:3:5: error: x`, `a.ts(3,5): error TS2322: x`, `3:5  error  x`.
  /(?:[:)]|\d)\s+(?:fatal )?error\b/i,
];

const evidence =
  /error|exception|fail|assert|panic|abort|fatal|expect|actual|received|\bgot\b|\bwant(?:ed)?\b|\b(?:left|right):|mismatch|undefined|not found|no such|cannot|can't|unable|denied|refused|invalid|missing|unresolved|segmentation|timed? ?out|!=|^E\s{2,}\S/i;

const place =
  /[\w)\]-]\.\w{1,8}(?::\d+|\(\d+)|"[^"]+", line \d+|\bline \d+\b|^\s*(?:-->|❯|at )\s*\S+[.:/]\S*/;

/** Stack frames of runtimes and packages. */
const frame =
  /^\s*(?:(?:at|❯|from|File)\s|(?:async )?[\w.$<>]+ \()[^"']*["']?(?:node:|.*node_modules|.*site-packages|.*dist-packages|.*\/lib\/python|.*\/usr\/lib|.*\/rustc\/|.*\.cargo\/|<frozen)/;

/** Characters of a line that are looked at. */
const mostLooked = 2000;

/** What a line without control codes says. */
export function says(line: string): Says {
  const text = line.length > mostLooked ? line.slice(0, mostLooked) : line;
  if (text.trim() === '') return 'nothing';
  if (passed.test(text)) return 'passed';
  if (frame.test(text)) return 'frame';
  const real = text.replace(noFailure, '');
  if (headlines.some((one) => one.test(real))) return 'headline';
  if (evidence.test(real)) return 'evidence';
  return place.test(real) ? 'place' : 'nothing';
}

/** Where in a line its evidence begins; 0 without any. */
export const saidAt = (line: string): number => Math.max(0, line.search(evidence));
