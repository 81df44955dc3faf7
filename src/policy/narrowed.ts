/** What runs the tests of a project, told to run fewer of them or to forget what they find: settings, not tests. */
import { runner } from './silenced.ts';
import type { FileChange, Tampering } from './tampering.ts';

type Rule = readonly [file: RegExp, line: RegExp, code: 'test-skipped' | 'check-silenced', mild?: boolean];

const pythonSettings = /(?:^|\/)(?:pytest\.ini|setup\.cfg|tox\.ini|pyproject\.toml|\.coveragerc)$/;
const jsSettings =
  /(?:^|\/)(?:vite(?:st)?|jest|playwright|karma|ava|cypress)\.config\.[cm]?[jt]s(?:on)?$|(?:^|\/)\.mocharc\b/;
/** Options by which a runner runs some of its tests, or none. */
const some =
  /(?:^|[\s"'])(?:--deselect|--ignore(?:-glob)?[= ]\S*tests?|--co\b|--collect-only|--passWithNoTests|--testPathIgnorePatterns|--testNamePattern|--no-run\b|-DskipTests|-Dmaven\.test\.skip|-k\s+\S?not\b|-m\s+\S?not\b)|\b(?:vitest|jest|mocha)\b[^&|;]*\s(?:-t|-g|--grep)\s/;

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
    const had = new Set(before.split(/\r?\n/).map((line) => line.trim()));
    const has = new Set(after.split(/\r?\n/).map((line) => line.trim()));
    const gone = [...had].filter((line) => !has.has(line));
    for (const [index, line] of after.split(/\r?\n/).entries()) {
      const text = line.trim();
      if (text === '' || had.has(text) || text.startsWith('#')) continue;
      const rule = rules.find(
        ([file, pattern]) =>
          file.test(path) && pattern.test(text) && (file !== pythonSettings || some.test(text)),
      );
      const was = gone.find((old) => old.slice(0, 6) === text.slice(0, 6)) ?? '';
      if (rule !== undefined) say(rule[2], index + 1, was, text, rule[3] === true);
      else if (commands.test(path) && some.test(text) && !some.test(was) && was !== '')
        say('test-skipped', index + 1, was, text, false);
      else if (makefile.test(path) && /^@?(?:true|:|(?:echo|printf)\b[^&|;]*)$/.test(text)) {
        const test = gone.find((old) => runner.test(old));
        if (test !== undefined && ![...has].some((one) => runner.test(one)))
          say('check-silenced', index + 1, test, text, false);
      }
    }
  }
  return found;
}
