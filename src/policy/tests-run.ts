/** Recognises that a successful test runner ran no test. */

/** `3 tests`, `0 passing`, `12 examples`; `tests 3`, `Tests run: 3`, `Tests: 1 passed, 1 total`. */
const counted = /\b(\d+) (?:tests?|examples?|specs?|runs?|passed|passing|pass)\b/gi;
const named = /\b(?:tests(?: run)?|pass)(?:\s*[:=]\s*|\s+)(\d+)\b/gi;
const without = /\bno tests?\b(?: (?:ran|run|found|executed|files|to run|is available))/i;
/** A package whose tests ran, in the output of Go. */
const ofGo = /^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?!.*\[no tests to run\])/m;

/** What a runner's summary says, if there is one. */
function summaryOf(output: string): 'some' | 'none' | 'nothing said' {
  const numbers = [counted, named].flatMap((form) => [...output.matchAll(form)].map(([, n]) => Number(n)));
  if (numbers.some((n) => n > 0) || ofGo.test(output)) return 'some';
  return numbers.length > 0 || without.test(output) ? 'none' : 'nothing said';
}

/** A test in a report of Node's runner. */
const reported = /^\s*(?:✔|✖|(?:not )?ok \d+ -) (.+?)(?: \([\d.]+m?s\))?\s*$/gm;
const isFile = (name: string): boolean => /^\S+\.[cm]?[jt]sx?$/.test(name);

/** Node's runner reports a file that contains no test, or ends before its first one, as a test that passed. */
function onlyFiles(output: string): boolean {
  if (!/^(?:#|ℹ) tests \d+$/m.test(output)) return false;
  const names = [...output.matchAll(reported)].map(([, name = '']) => name);
  return names.length > 0 && names.every(isFile);
}

const colours = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g');

/** Why the output of a command that exited with 0 shows that it tested nothing; undefined if it does not. */
export function noTestRan(output: string): string | undefined {
  const text = output.replace(colours, '');
  if (onlyFiles(text)) return '0 tests ran: its test files contain none, or end before the first';
  return summaryOf(text) === 'none' ? '0 tests ran' : undefined;
}
