/** Tests that were made to say less: from the versions of files before and after somebody's work. */
import { quietIn } from './quiet.ts';
import { bare, inTable, lostRows } from './tables.ts';
import { type Assertion, isCode, isTest, type TestCode, testCode } from './test-code.ts';
import { isDisguised, isUncalled, unseenIn } from './unrun.ts';
import { howWeaker, identifiers, isTrivial } from './weaker.ts';

/** A file that was created, changed or deleted, as text. */
export type FileChange = {
  readonly path: string;
  readonly before?: string;
  readonly after?: string;
};

export type TamperCode =
  | 'test-file-deleted'
  | 'test-deleted'
  | 'test-skipped'
  | 'assertion-deleted'
  | 'assertion-weakened'
  | 'check-silenced'
  | 'check-bypassed';

export type Tampering = {
  readonly code: TamperCode;
  readonly severity: 'error' | 'warning';
  readonly path: string;
  /** 1-based, of the file as it is now; of a file or a test that is gone, as it was. */
  readonly line: number;
  readonly before: string;
  readonly after: string;
  readonly why: string;
};

export type Pair = {
  readonly path: string;
  readonly was: TestCode | undefined;
  readonly is: TestCode | undefined;
  readonly change: FileChange;
};

const none: TestCode = { tests: new Map(), assertions: [], skips: [], leaves: [] };

/** What was done to tests by changes that were made together. Where `mayRewrite` answers true (the tests are the writer's
 *  own, or the order names them) a finding is a warning at most. What moved from file to file, was renamed or reworded
 *  without saying less is none. */
export function tamperingIn(
  changes: readonly FileChange[],
  mayRewrite: (path: string) => boolean = () => false,
): Tampering[] {
  const pairs: Pair[] = changes
    .filter(({ path, before, after }) => isTest(path, before, after))
    .map((change) => ({
      path: change.path,
      was: change.before === undefined ? undefined : testCode(change.path, change.before),
      is: change.after === undefined ? undefined : testCode(change.path, change.after),
      change,
    }));
  const gone = vanished(changes);
  const concernsGone = (text: string) => gone.size > 0 && identifiers(text).some((name) => gone.has(name));
  const left = remaining(pairs);
  const found: Tampering[] = [];
  const say = (finding: Omit<Tampering, 'severity'> & { readonly mild?: boolean }) => {
    const { mild, ...rest } = finding;
    found.push({ ...rest, severity: mild === true || mayRewrite(finding.path) ? 'warning' : 'error' });
  };
  for (const { path, was, is, change } of pairs) {
    if (was !== undefined && is === undefined) {
      const unseen = unseenIn(was, path, pairs);
      if (unseen !== undefined) {
        say({
          code: 'test-skipped',
          path,
          line: 1,
          before: path,
          after: unseen,
          why: 'its tests are in a file now that nobody takes for one by its name',
          // What runs them may be told other names.
          mild: !path.endsWith('.py'),
        });
        continue;
      }
      if (isElsewhere(was, change, left, changes) || concernsGone(change.before ?? '')) continue;
      say({
        code: 'test-file-deleted',
        path,
        line: 1,
        before: `${was.tests.size} tests, ${was.assertions.length} assertions`,
        after: '',
        why: 'the file with these tests is gone, and they are nowhere else',
      });
      continue;
    }
    if (is === undefined) continue;
    for (const skip of left.newSkips(path, is.skips)) {
      if (comesAlong(skip, was, is, left)) continue;
      say({
        code: 'test-skipped',
        path,
        line: skip.line,
        before: '',
        after: skip.text,
        why: 'tests that were run are not, or not all of them',
        mild: skip.conditional,
      });
    }
    for (const leave of left.newLeaves(was ?? none, is))
      say({
        code: 'check-bypassed',
        path,
        line: leave.line,
        before: '',
        after: leave.text,
        why: 'nobody gets to the checks behind this line any more',
      });
    if (was === undefined) continue;
    for (const { row, line } of lostRows(change.before ?? '', change.after ?? '', left.stands))
      if (!concernsGone(row))
        say({
          code: 'test-deleted',
          path,
          line,
          before: row,
          after: '',
          why: 'the test is not run with this case any more, nor with others in its place',
        });
    for (const [test, line] of was.tests) {
      if (is.tests.has(test) || left.hasTest(test)) continue;
      const its = was.assertions.filter((one) => one.test === test);
      if (isUncalled(test, change) || isDisguised(test, its, is, change)) {
        say({
          code: 'test-skipped',
          path,
          line,
          before: test,
          after: '',
          why: 'the test is still there, and nothing runs it any more',
        });
        continue;
      }
      const kept = its.filter(({ key }) => left.isKept(key)).length;
      if (its.length > 0 && kept * 2 >= its.length) continue;
      // Renamed, and reworded: a new one stands where it stood.
      if (is.tests.size >= was.tests.size && is.assertions.length >= was.assertions.length) continue;
      if (concernsGone(`${test} ${its.map(({ text }) => text).join(' ')}`)) continue;
      say({
        code: 'test-deleted',
        path,
        line,
        before: test,
        after: '',
        why: 'the test is gone, and what it checked is checked nowhere else',
        mild: its.every((one) => inTable(one, was, is, change) !== undefined),
      });
    }
    for (const finding of weakened(was, is, left)) {
      if (finding.code === 'assertion-deleted' && concernsGone(finding.before)) continue;
      const gone = was.assertions.find(({ text }) => text === finding.before);
      const table =
        finding.code === 'assertion-deleted' && gone !== undefined
          ? inTable(gone, was, is, change)
          : undefined;
      if (table === 'with its values') continue;
      say({ ...finding, path, mild: finding.mild === true || table !== undefined });
    }
  }
  const had = (one: Tampering) =>
    found.some(({ path, line, code }) => path === one.path && line === one.line && code === one.code);
  // One line, one finding.
  const quiet = quietIn(changes, mayRewrite).filter((one) => !had(one));
  const told = (one: Tampering) => quiet.some(({ path, line }) => path === one.path && line === one.line);
  return [...found.filter((one) => one.code !== 'assertion-weakened' || !told(one)), ...quiet];
}

type Remaining = ReturnType<typeof remaining>;

/** All that the changed files have now, whichever of them has it. */
function remaining(pairs: readonly Pair[]) {
  const count = (keys: Iterable<string>): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts;
  };
  const every = <T>(of: (code: TestCode) => readonly T[], side: 'was' | 'is'): T[] =>
    pairs.flatMap((pair) => [...of(pair[side] ?? none)]);
  const now = count(every(({ assertions }) => assertions, 'is').map(({ key }) => key));
  const then = count(every(({ assertions }) => assertions, 'was').map(({ key }) => key));
  const skipsThen = count(every(({ skips }) => skips, 'was').map(({ key }) => key));
  const tests = new Set(pairs.flatMap(({ is }) => [...(is?.tests.keys() ?? [])]));
  const testsThen = new Set(pairs.flatMap(({ was }) => [...(was?.tests.keys() ?? [])]));
  let all: string | undefined;
  return {
    /** Whether a case of a table is anywhere. */
    stands: (row: string) => {
      all ??= bare(pairs.map(({ change }) => change.after ?? '').join('\n'));
      return all.includes(row);
    },
    isKept: (key: string) => now.has(key),
    /** How many fewer of these there are now, in all files together. */
    fewer: (key: string) => Math.max(0, (then.get(key) ?? 0) - (now.get(key) ?? 0)),
    isNew: (key: string) => !then.has(key),
    hasTest: (name: string) => tests.has(name),
    hadTest: (name: string) => testsThen.has(name),
    newSkips: (_path: string, skips: TestCode['skips']) =>
      skips.filter(({ key }) => {
        const had = skipsThen.get(key) ?? 0;
        if (had > 0) skipsThen.set(key, had - 1);
        return had === 0;
      }),
    newLeaves: (was: TestCode, is: TestCode) => {
      const had = count(was.leaves.map(({ test, text }) => `${test}\n${text}`));
      return is.leaves.filter(({ test, text }) => {
        // A test that is new may leave where it likes.
        const isNewTest = test !== '' && !was.tests.has(test);
        const key = `${test}\n${text}`;
        const before = had.get(key) ?? 0;
        had.set(key, before - 1);
        return before <= 0 && !isNewTest && was.assertions.length > 0;
      });
    },
  };
}

/** Whether a condition has come along with the tests that it is for: a new file's, or the one that shall panic. None that was
 *  run is not. */
function comesAlong(
  { conditional, text, line }: TestCode['skips'][number],
  was: TestCode | undefined,
  is: TestCode,
  left: Remaining,
): boolean {
  if (!conditional || (was !== undefined && !text.startsWith('#[should_panic'))) return false;
  const tests = [...is.tests];
  const its = was === undefined ? tests : tests.filter(([, at]) => at >= line).slice(0, 1);
  return its.length > 0 && its.every(([name]) => !left.hadTest(name));
}

/** A file that was renamed, or whose tests have moved. */
function isElsewhere(
  was: TestCode,
  { before }: FileChange,
  left: Remaining,
  changes: readonly FileChange[],
): boolean {
  const { assertions, tests } = was;
  // What only helps tests may become a module; tests must be where they are run.
  if (tests.size === 0 && changes.some(({ path, after }) => isCode(path) && after === before)) return true;
  if (assertions.length === 0) return [...tests.keys()].every((name) => left.hasTest(name));
  return assertions.filter(({ key }) => left.isKept(key)).length >= assertions.length * 0.7;
}

type Weakening = Omit<Tampering, 'severity' | 'path'> & { readonly mild?: boolean };

/** Assertions that are gone, each held against the one that took its place. */
function weakened(was: TestCode, is: TestCode, left: Remaining): Weakening[] {
  const found: Weakening[] = [];
  for (const test of new Set(was.assertions.map((one) => one.test))) {
    if (test !== '' && !is.tests.has(test)) continue;
    const before = was.assertions.filter((one) => one.test === test);
    const after = is.assertions.filter((one) => one.test === test);
    const stays = new Map<string, number>();
    for (const { key } of after) stays.set(key, (stays.get(key) ?? 0) + 1);
    const removed = before.filter(({ key }) => {
      const count = stays.get(key) ?? 0;
      stays.set(key, count - 1);
      return count <= 0 && left.fewer(key) > 0;
    });
    const old = new Map<string, number>();
    for (const { key } of before) old.set(key, (old.get(key) ?? 0) + 1);
    const added = after.filter(({ key }) => {
      const count = old.get(key) ?? 0;
      old.set(key, count - 1);
      return count <= 0;
    });
    let fewer = before.length - after.length;
    for (const one of removed) {
      const successor = nearest(one, added);
      if (successor === undefined) {
        if (fewer <= 0) continue;
        fewer--;
        found.push({
          code: 'assertion-deleted',
          line: is.tests.get(test) ?? 1,
          before: one.text,
          after: '',
          why: 'what this assertion checked is not checked any more',
        });
        continue;
      }
      added.splice(added.indexOf(successor), 1);
      const why = howWeaker(one.text, successor.text);
      if (why !== undefined)
        found.push({
          code: 'assertion-weakened',
          line: successor.line,
          before: one.text,
          after: successor.text,
          why,
        });
    }
  }
  return found;
}

/** The assertion that most likely took the place of another: about the same things, or the only one that says nothing. */
function nearest(one: Assertion, added: readonly Assertion[]): Assertion | undefined {
  const own = new Set(identifiers(one.text));
  let best: Assertion | undefined;
  let most = 0;
  for (const other of added) {
    const theirs = identifiers(other.text);
    const shared = theirs.filter((word) => own.has(word)).length;
    const score = isTrivial(other.text) ? 0.34 : shared / Math.max(1, Math.min(own.size, theirs.length));
    if (score > most) {
      most = score;
      best = other;
    }
  }
  return most >= 0.33 ? best : undefined;
}

/** Names that product code defined before and does not any more: tests of those may go with them. */
function vanished(changes: readonly FileChange[]): Set<string> {
  const defined = (text: string | undefined): string[] =>
    [
      ...(text ?? '').matchAll(
        /\b(?:def|function\*?|func(?:\s*\([^)\n]{0,200}\))?|fn|fun|class|interface|struct|enum|trait|const|let|var|type|void|module|static)\s+([A-Za-z_]\w{2,})/g,
      ),
    ].map((found) => found[1] ?? '');
  const product = changes.filter(({ path, before, after }) => isCode(path) && !isTest(path, before, after));
  const used = product.map(({ after }) => after ?? '').join('\n');
  return new Set(
    product
      .flatMap(({ before }) => defined(before))
      .filter((name) => !new RegExp(`\\b${name}\\b`).test(used)),
  );
}

/** Words of texts by which an order names a file. */
export const namesFile = (text: string, path: string): boolean => {
  const name = path.split('/').at(-1) ?? path;
  return text.includes(path) || (/\p{L}{2,}|\d{2,}/u.test(name) && text.includes(name));
};
