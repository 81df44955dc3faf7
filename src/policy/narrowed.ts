/** What runs the tests of a project, told to run fewer of them or to forget what they find: settings, not tests. */
import { runner } from './silenced.ts';
import type { FileChange, Tampering } from './tampering.ts';

type Rule = readonly [file: RegExp, line: RegExp, code: 'test-skipped' | 'check-silenced', mild?: boolean];

const pythonSettings = /(?:^|\/)(?:pytest\.ini|setup\.cfg|tox\.ini|pyproject\.toml|\.coveragerc)$/;
const jsSettings =
  /(?:^|\/)(?:vite(?:st)?|jest|playwright|karma|ava|cypress)\.config\.[cm]?[jt]s(?:on)?$|(?:^|\/)\.mocharc\b/;
/** Options by which a runner runs some of its tests, or none. */
const some =
  /(?:^|[\s"'])(?:--deselect|--ignore(?:-glob)?[= ]\S*tests?|--exclude[= ]\S*(?:tests?|spec)|--co\b|--collect-only|--passWithNoTests|--testPathIgnorePatterns|--testNamePattern|--no-run\b|-DskipTests|-Dmaven\.test\.skip|-k\s+\S?not\b|-m\s+\S?not\b)|\b(?:vitest|jest|mocha)\b[^&|;]*\s(?:-t|-g|--grep)\s/;

const rules: readonly Rule[] = [
  [pythonSettings, /^(?:addopts\b|pytest\b|commands\b|-).*/, 'test-skipped'],
  [
    jsSettings,
    /\b(?:exclude|testPathIgnorePatterns|testIgnore|ignore)\b.*(?:test|spec)/i,
    'test-skipped',
    true,
  ],
  [jsSettings, /\bpassWithNoTests\s*:\s*true/, 'check-silenced', true],
  [/(?:^|\/)pom\.xml$/, /<(?:skipTests|maven\.test\.skip|skip)>\s*true\s*</, 'test-skipped'],
  [/(?:^|\/)pom\.xml$/, /<(?:maven\.test\.failure\.ignore|testFailureIgnore)>\s*true\s*</, 'check-silenced'],
  [/\.gradle(?:\.kts)?$/, /\bignoreFailures\s*(?:=|\()?\s*true/, 'check-silenced'],
  [/\.gradle(?:\.kts)?$/, /\bexclude\b.*Test/, 'test-skipped', true],
  [/(?:^|\/)Cargo\.toml$/, /^(?:test|harness)\s*=\s*false/, 'test-skipped', true],
  [/(?:^|\/)\.rspec$/, /(?:--tag|-t)\s+~/, 'test-skipped', true],
];

const commands = /(?:^|\/)(?:package\.json|Makefile|Justfile|justfile)$|\.mk$/;

const makefile = /(?:^|\/)(?:Makefile|Justfile|justfile)$|\.mk$/;

/** A command that does nothing. */
const idle = /^@?(?:true|:|(?:echo|printf)\b[^&|;]*)$/;

/** Characters of a line that somebody wrote by hand, and more. */
const mostOfLine = 4096;

/** The commands of a rule that line `at` is one of. */
function recipeAt(lines: readonly string[], at: number): string[] {
  const isCommand = (line: string | undefined): boolean => /^\s+\S/.test(line ?? '');
  if (!isCommand(lines[at])) return [lines[at] ?? ''];
  let from = at;
  while (isCommand(lines[from - 1])) from--;
  let end = at + 1;
  while (isCommand(lines[end])) end++;
  return lines.slice(from, end).map((line) => line.trim());
}

/** Whether line `at` of a pom.xml stands in the settings of what runs tests; other plugins may be skipped as well. */
const isOfTests = (lines: readonly string[], at: number): boolean =>
  /surefire|failsafe/.test(lines.slice(0, at).findLast((line) => line.includes('<artifactId>')) ?? '');

/** Lines that are new and narrow what is run; one whose like stood there before is none. */
export function narrowed(changes: readonly FileChange[], mayRewrite: (path: string) => boolean): Tampering[] {
  const found: Tampering[] = [];
  for (const { path, before, after } of changes) {
    if (before === undefined || after === undefined) continue;
    if (!commands.test(path) && !rules.some(([file]) => file.test(path))) continue;
    const say = (code: Rule[2], line: number, was: string, text: string, mild: boolean) =>
      found.push({
        code,
        severity: mild || mayRewrite(path) ? 'warning' : 'error',
        path,
        line,
        before: was,
        after: text.trim(),
        why:
          code === 'test-skipped'
            ? 'what runs the tests leaves some of them out now'
            : 'what the tests find does not matter any more',
      });
    const lines = after.split(/\r?\n/);
    const had = new Set(before.split(/\r?\n/).map((line) => line.trim()));
    const has = new Set(lines.map((line) => line.trim()));
    const gone = [...had].filter((line) => !has.has(line));
    const test = makefile.test(path) ? gone.find((old) => runner.test(old)) : undefined;
    const isRun = test !== undefined && [...has].some((one) => runner.test(one));
    for (const [index, line] of lines.entries()) {
      const text = line.trim();
      if (text === '' || text.length > mostOfLine || had.has(text) || text.startsWith('#')) continue;
      const rule = rules.find(
        ([file, pattern]) =>
          file.test(path) &&
          pattern.test(text) &&
          (file !== pythonSettings || some.test(text)) &&
          (!text.startsWith('<skip>') || isOfTests(lines, index)),
      );
      const was = gone.find((old) => old.slice(0, 6) === text.slice(0, 6)) ?? '';
      if (rule !== undefined) say(rule[2], index + 1, was, text, rule[3] === true);
      else if (commands.test(path) && some.test(text) && !some.test(was) && was !== '')
        say('test-skipped', index + 1, was, text, false);
      else if (test !== undefined && !isRun && recipeAt(lines, index).every((one) => idle.test(one)))
        say('check-silenced', index + 1, test, text, false);
    }
  }
  return found;
}
