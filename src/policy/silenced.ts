/** Scripts that run checks, made to pass whatever those find: what `|| true`, an empty test command and `set +e` do. */
import type { FileChange, Tampering } from './tampering.ts';
import { isTest } from './test-code.ts';

const script =
  /\.(?:sh|bash|zsh|bats|ya?ml|mk|toml|cfg)$|(?:^|\/)(?:Makefile|Justfile|package\.json|tox\.ini|justfile)$/;
const mute =
  /(?<!\s)\s*(?:\|\|\s*(?:true|:|exit\s+0|return\s+0|echo\b.*)|;\s*(?:true|exit\s+0)|-\s*\|\|\s*true)\s*["']?,?$/;

/** What runs tests. */
export const runner =
  /\b(?:npm (?:run )?test|(?:yarn|pnpm)(?: run)? test|vitest|jest|mocha|pytest|unittest|tox|(?:cargo|go|dotnet) test|mvn|gradlew?|rspec|bats|ctest|make (?:test|check)|node --test)\b/;

/** What a line runs whose findings are lost: behind `-`, `!` or `echo`, under an `if` that does nothing, in the background.
 *  `has`: all lines that there are now. */
function unheard(text: string, path: string, has: ReadonlySet<string>): string | undefined {
  if (!runner.test(text)) return undefined;
  const inMakefile = /(?:Makefile|\.mk)$/.test(path);
  const lines = [...has];
  const [, said = ''] = /^echo\s+(\S+)/.exec(text) ?? [];
  // What is said may be done as well, and what runs beside others may be asked for in the end.
  if (said !== '' && lines.some((one) => one.startsWith(`${said} `) && runner.test(one))) return undefined;
  const isAsked = lines.some((one) => /\bwait\s+["'$%\d-]/.test(one));
  return (
    /^(?:!|echo)\s+(.+)$/.exec(text)?.[1] ??
    /^if\s+(.+?)\s*;\s*then\s+(?::|true)\s*;\s*fi$/.exec(text)?.[1] ??
    (isAsked ? undefined : /^(.*\S)\s*(?<!&)&$/.exec(text)?.[1]) ??
    (inMakefile ? /^@?-@?\s*(.+)$/.exec(text)?.[1] : undefined)
  );
}

/** A trap by which a script always ends well, a check of a name that others rely on which finds nothing. */
const endsWell =
  /^trap\s+(["']).{0,400}\bexit\s+0\b.{0,400}\1\s.{0,100}\b(?:EXIT|ERR|0)\b|^(?:function\s+)?(?:diff|grep|cmp|test|jq|fail|assert\w*)\s*\(\)\s*\{\s*(?:return\s+0|true|:)\s*;?\s*\}/;

/** Whether a test's main forgets what its tests said; a test that is run as a program of its own ends so, too. */
const forgets = (path: string, lines: readonly string[], at: number): boolean =>
  path.endsWith('_test.go') &&
  lines[at]?.trim() === 'os.Exit(0)' &&
  /^func TestMain\(/.test(lines.slice(0, at).findLast((line) => line.startsWith('func ')) ?? '');

/** A line without the quotes and commas that it ends with. */
const bare = (line: string): string => line.replace(/["',]+$/, '');

const shell = /\.(?:sh|bash|zsh)$/;

/** The index of the line at which a script ends well, outside of any block; its length where it comes to its last line. */
function endOf(lines: readonly string[]): number {
  let depth = 0;
  let quoted: string | undefined;
  for (const [at, line] of lines.entries()) {
    const text = line.trim();
    if (quoted !== undefined) {
      if (text === quoted) quoted = undefined;
      continue;
    }
    quoted = /<<-?\s*(["']?)(\w+)\1/.exec(text)?.[2];
    if (depth === 0 && /^exit(?:\s+0)?\s*;?$/.test(text)) return at;
    if (/^(?:if|for|while|until|case|select)\b|[{(]$/.test(text)) depth++;
    if (/^[})]|\b(?:fi|done|esac)\b(?:\s*[;&|<>)].*)?$/.test(text)) depth = Math.max(0, depth - 1);
  }
  return lines.length;
}

/** What says something at most. */
const idle = /^(?:#.*|set\s.*|exit(?:\s+0)?|true|:|(?:echo|printf)\b[^&|;>]*)?;?$/;

/** A script that does not come to the tests that it ran: it ends before them, or runs nothing at all. */
function unreached(path: string, before: string, after: string): Omit<Tampering, 'severity'> | undefined {
  if (!shell.test(path)) return undefined;
  const then = before.split(/\r?\n/);
  const now = after.split(/\r?\n/);
  const ran = new Set(
    then
      .slice(0, endOf(then))
      .map((line) => line.trim())
      .filter((line) => runner.test(line) && !idle.test(line)),
  );
  if (ran.size === 0) return undefined;
  const end = endOf(now);
  const finding = { path, before: [...ran][0] ?? '', after: (now[end] ?? '').trim() };
  if (now.every((line) => idle.test(line.trim())))
    return { ...finding, code: 'check-silenced', line: 1, why: 'the script for the tests runs none' };
  const reached = new Set(now.slice(0, end).map((line) => line.trim()));
  const cut = now.slice(end).find((line) => ran.has(line.trim()) && !reached.has(line.trim()));
  if (cut === undefined) return undefined;
  const why = 'nobody gets to the tests behind this line any more';
  return { ...finding, code: 'check-bypassed', before: cut.trim(), line: end + 1, why };
}

/** Scripts that run checks, made to pass whatever they find. */
export function silenced(changes: readonly FileChange[], mayRewrite: (path: string) => boolean): Tampering[] {
  const found: Tampering[] = [];
  for (const { path, before, after } of changes) {
    if (before === undefined || after === undefined || !(script.test(path) || isTest(path, before, after)))
      continue;
    const severity = mayRewrite(path) ? 'warning' : 'error';
    const had = new Set(before.split(/\r?\n/).map((line) => line.trim()));
    const has = new Set(after.split(/\r?\n/).map((line) => line.trim()));
    // By what they say: a lock file may have ten thousand new lines, and as many that are gone.
    const gone = new Map<string, string>();
    for (const old of had) if (old !== '' && !has.has(old) && !gone.has(bare(old))) gone.set(bare(old), old);
    const lines = after.split(/\r?\n/);
    for (const [index, line] of lines.entries()) {
      const text = line.trim();
      if (had.has(text)) continue;
      const base = bare(text.replace(mute, ''));
      const was = gone.get(base);
      if (base !== bare(text) && base.length >= 4 && was !== undefined)
        found.push({
          code: 'check-silenced',
          severity,
          path,
          line: index + 1,
          before: was,
          after: text,
          why: 'what it finds does not matter any more',
        });
      const heard = gone.get(bare(unheard(text, path, has) ?? ''));
      if (heard !== undefined)
        found.push({
          code: 'check-silenced',
          severity,
          path,
          line: index + 1,
          before: heard,
          after: text,
          why: 'what the tests find does not matter any more',
        });
      if ((endsWell.test(text) && /\.(?:sh|bash|bats)$/.test(path)) || forgets(path, lines, index))
        found.push({
          code: 'check-silenced',
          severity,
          path,
          line: index + 1,
          before: '',
          after: text,
          why: 'what the checks find does not matter any more',
        });
      if (/^(?:- )?continue-on-error:\s*true\b/.test(text))
        found.push({
          code: 'check-silenced',
          severity: 'warning',
          path,
          line: index + 1,
          before: '',
          after: text,
          why: 'what this step finds does not matter any more',
        });
      const test = /^"test(?::\w+)?"\s*:\s*"(.*)",?$/.exec(text)?.[1];
      // A line that only lost or got its comma is not new.
      if (
        test !== undefined &&
        /^(?:true|:|exit 0|node -e\b.*|(?:echo|printf)\b[^&|;]*)$/.test(test) &&
        !gone.has(bare(text))
      )
        found.push({
          code: 'check-silenced',
          severity,
          path,
          line: index + 1,
          before: [...had].find((old) => old.startsWith(text.slice(0, 7))) ?? '',
          after: text,
          why: 'the command for the tests runs none',
        });
    }
    const strict = /^[ \t]*set\s+-\w*e/m;
    if (
      /\.(?:sh|bash|bats)$/.test(path) &&
      strict.test(before) &&
      (!strict.test(after) || (/^[ \t]*set\s+\+e/m.test(after) && !/^[ \t]*set\s+\+e/m.test(before)))
    )
      found.push({
        code: 'check-silenced',
        severity: 'warning',
        path,
        line: after.split('\n').findIndex((line) => /^\s*set\s+\+e/.test(line)) + 1 || 1,
        before: (strict.exec(before)?.[0] ?? '').trim(),
        after: '',
        why: 'the script goes on after a command has failed',
      });
    const end = unreached(path, before, after);
    // What was said of one of its lines says as much.
    const isSaid = found.some((one) => one.path === path && one.severity === severity);
    if (end !== undefined && !isSaid) found.push({ ...end, severity });
  }
  return found;
}
