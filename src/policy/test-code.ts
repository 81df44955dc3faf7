/** What of a text is a test: which files, which tests they have, what those assert, which of them are not run. By lines, for
 *  many languages: enough to compare two versions of a file, not to understand one. */

import { hollowLines } from './hollow.ts';

const testFolder = /(?:^|\/)(?:tests?|specs?|__tests__|testing|e2e|testsuite|features|scenarios)\//i;
const testFile =
  /(?:^|\/)(?:test_[^/]*|[^/]*_test|[^/]*[.-](?:test|spec|e2e)|[^/]*_spec|conftest|test|tests|[^/]*[a-z0-9]Tests?|[^/]*[a-z0-9](?:IT|Spec))\.[A-Za-z]+$/;
const code =
  /\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|rb|cs|sh|bash|zsh|bats|php|swift|scala|c|h|cc|cpp|hpp|ex|exs|pl|lua|dart|ps1|vue|svelte)$/i;

export const isCode = (path: string): boolean => code.test(path);

/** Whether a file is a test by its name or folder; Rust has its tests beside what they test. */
export const isTest = (path: string, ...texts: readonly (string | undefined)[]): boolean =>
  (isCode(path) && (testFolder.test(path) || testFile.test(path))) ||
  (path.endsWith('.rs') && texts.some((text) => text?.includes('#[cfg(test)]') === true));

export type Assertion = {
  /** Without blanks; what is compared. */
  readonly key: string;
  readonly text: string;
  /** 1-based. */
  readonly line: number;
  /** The test that it stands in; empty outside of one. */
  readonly test: string;
};

export type Skip = {
  readonly key: string;
  readonly text: string;
  readonly line: number;
  /** Whether it depends on something. */
  readonly conditional: boolean;
};

export type TestCode = {
  /** Names of tests, with the line that each begins at. */
  readonly tests: ReadonlyMap<string, number>;
  readonly assertions: readonly Assertion[];
  readonly skips: readonly Skip[];
  /** Lines that leave before checks that follow: out of a test, or out of a script. */
  readonly leaves: readonly { readonly text: string; readonly line: number; readonly test: string }[];
};

const asserts =
  /(?:^|[\s;{(!|&])(?:self\.)?(?:assert\w*!?|debug_assert\w*!|expect\w*|refute\w*|Assert\.\w+|Assertions\.\w+|require\.[A-Z]\w*|pytest\.(?:raises|warns|fail)|XCTAssert\w*|EXPECT_\w+|ASSERT_\w+|CHECK|REQUIRE|verify|raise\s+AssertionError)(?:\.\w+)*(?:<[^>]*>)?[\s(]|\bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|is|deepEqual|true|false|throws|throwsAsync|not|like|equal|same|ok|assert)\(|\.(?:should|must)(?:_\w+|\.|\()|\.Should\(\)/;
/** What a script checks with. */
const checks =
  /(?:^|[\s;!(])(?:test|\[\[?|grep|egrep|diff|cmp|jq)\s.*(?:\|\||&&)|^(?:if|elif)\s+!?\s*(?:\[|test\b|grep|diff|cmp|jq|"?\$)|^(?:diff|cmp|grep|\[\[?|test|assert\w*|run_test\w*|check\w*|expect\w*)\s|\|\s*grep\s|\b(?:exit|return)\s+[1-9]|^fail\b/;

const names: readonly RegExp[] = [
  /^\s*(?:async\s+)?def\s+(test\w*)\s*(?:\(|$)/,
  /^\s*(?:it|test|specify|Deno\.test)(?:\.(?:only|skip|todo|failing|concurrent|each\([^)]*\)))*\s*\(?\s*['"`](.+?)['"`]/,
  /^\s*(?:xit|xtest|fit|xspecify)\s*\(\s*['"`](.+?)['"`]/,
  /^\s*func\s+((?:Test|Fuzz|Example)\w*)\s*\(/,
  /^\s*(?:function\s+)?(test_\w+)\s*\(\s*\)/,
  /^\s*@test\s+["'](.+?)["']/,
];
/** A sign that the next function is a test. */
const sign =
  /^\s*(?:#\[(?:\w+::)*test\b|@(?:Test|ParameterizedTest|RepeatedTest)\b|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b)/;
const called = /\b(?:fn|fun|void|Task|int|bool|func)\s+`?(\w[\w ]*?)`?\s*(?:<[^>]*>)?\(/;

const exits = /\bos\._exit\(0\)/;

const skipping: readonly (readonly [RegExp, boolean])[] = [
  [
    /@(?:pytest\.mark\.|unittest\.)?(?:skip_?if|skipUnless)\b|@(?:DisabledOn|EnabledOn|DisabledIf|EnabledIf)\w*|\bskipif\b|#\[cfg_attr\(.*ignore/i,
    true,
  ],
  [/\b(?:it|test|describe|context)\.(?:skipIf|runIf)\(|\bpytest\.importorskip\(|^\s*#\[should_panic\b/, true],
  [
    /^\s*pytestmark\s*=.*\bmark\.(?:skip|xfail)\b|^\s*__test__\s*=\s*False\b|^\s*collect_ignore(?:_glob)?\s*=/,
    false,
  ],
  [/^\s*(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\s+['"]/, false],
  [/@Test\b.*\benabled\s*=\s*false|^\s*#\[cfg\(any\(\)\)\]|^\/\/go:build\s+ignore\b/, false],
  [/^\/\/go:build\b/, true],
  // What stands behind it is never come to.
  [/^\s*(?:\}?\s*else\s+)?(?:if|while)\s*\(?\s*(?:False|false|0)\s*(?:[):{;]|&&|and\b)/, false],
  [/^\s*if\b.*(?:&&|\band)\s*(?:False|false|0)\s*\)?\s*[:{]|(?:\bif|;)\s+(\w+)\s*!=\s*\1\s*\{/, false],
  [/^\s*for\b.*\bin\s+(?:\[\]|\(\)|range\(0\))\s*:|\brange\s+\w+\[:0\]/, false],
  // Hooks of pytest by which no test runs, or none fails.
  [/\.outcome\s*=\s*["']passed|\bsession\.exitstatus\s*=\s*0/, false],
  [exits, false],
  [/\bitems\.clear\(\)|\bitems\[:\]\s*=\s*\[\]|\bdel\s+items\[:\]/, false],
  [/\bitems\[:\]\s*=\s*\[.{0,200}\bif\b|\badd_marker\(\s*pytest\.mark\.(?:skip|xfail)\b/, true],
  [/^\s*@(?:module|describe)?tag\s+:?skip\b/, false],
  [/\bExUnit\.(?:start|configure)\(.*\bexclude:|^\s*#if\b|^\s*#\[cfg\(all\(test\s*,/, true],
  [/\bassumeTrue\(\s*false\b|\bassumeFalse\(\s*true\b|\bAssert\.(?:Inconclusive|Ignore|Pass)\(/, false],
  [/\bassume(?:True|False|That)\(|\[(?:\w+,\s*)*Explicit\b/, true],
  [
    /@(?:pytest\.mark\.|unittest\.)?(?:skip|xfail|expectedFailure)\b|\bpytest\.(?:skip|xfail)\(|\bself\.skipTest\(|\braise\s+(?:unittest\.)?SkipTest\b/,
    false,
  ],
  [
    /\b(?:it|test|describe|context|suite|specify|Deno\.test)\.(?:skip|todo|failing|fails(?=\(|\.\w+\()|only|ignore)\b|^\s*(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\s*\(|\b(?:it|test)\(.*\{\s*(?:skip|todo|only|ignore)\s*:\s*(?!false)/,
    false,
  ],
  [/\bt\.(?:Skip|Skipf|SkipNow)\(/, false],
  [/^\s*@(?:Disabled|Ignore)\b|\[Ignore\b|\bSkip\s*=\s*"|^\s*#\[ignore\b/, false],
  [/^\s*(?:skip|pending)(?:\s|\(|$)|,\s*(?:skip|pending):\s*(?!false)|['"],\s*:(?:skip|pending)\b/, false],
];

const leaving =
  /^\s*(?:return(?:\s+(?:None|nil|null|undefined|0|true))?|exit\s+0|exit|sys\.exit\(0?\)|process\.exit\(0?\)|os\.Exit\(0\))\s*;?\s*$/;

/** Reads a test. `shell` counts what a script checks with. */
export function testCode(path: string, text: string): TestCode {
  const isShell = /\.(?:sh|bash|zsh|bats)$/.test(path) || /^#!.*sh\b/.test(text);
  const lines = withoutComments(path, text).split('\n');
  const hollow = hollowLines(path, lines);
  // A process that a test has begun ends so, and the test goes on.
  const isChilds = (pattern: RegExp): boolean => pattern === exits && text.includes('os.fork(');
  const tests = new Map<string, number>();
  const assertions: Assertion[] = [];
  const skips: Skip[] = [];
  const leaves: { text: string; line: number; test: string; depth: number }[] = [];
  let test = '';
  let signed = false;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (line.trim() === '') continue;
    const name = nameIn(line, signed);
    signed = sign.test(line) || (signed && name === undefined && /^\s*[@[#]|^\s*\/\//.test(line));
    if (name !== undefined) {
      test = tests.has(name) ? `${name} (${tests.size})` : name;
      tests.set(test, at + 1);
    }
    const skip = skipping.find(([pattern]) => pattern.test(line));
    if (skip !== undefined)
      skips.push({
        key: bare(line),
        text: line.trim(),
        line: at + 1,
        conditional: skip[1] || isChilds(skip[0]),
      });
    if (leaving.test(line) && (test !== '' || /^\S/.test(line)))
      leaves.push({ text: line.trim(), line: at + 1, test, depth: indent(line) });
    if (!hollow.has(at) && (asserts.test(line) || (isShell && checks.test(line.trim())))) {
      const whole = statement(lines, at);
      assertions.push({ key: bare(whole), text: whole, line: at + 1, test });
    }
  }
  return {
    tests,
    assertions,
    skips,
    leaves: leaves.filter((leave) => cutsOff(leave, lines, tests, assertions)),
  };
}

function nameIn(line: string, signed: boolean): string | undefined {
  for (const pattern of names) {
    const found = pattern.exec(line)?.[1];
    if (found !== undefined) return found;
  }
  return signed ? called.exec(line)?.[1] : undefined;
}

/** Whether checks follow that nobody gets to: not for one that stands deeper than its test's body. */
function cutsOff(
  leave: { readonly line: number; readonly test: string; readonly depth: number },
  lines: readonly string[],
  tests: ReadonlyMap<string, number>,
  assertions: readonly Assertion[],
): boolean {
  const from = tests.get(leave.test);
  if (leave.test === '' || leave.depth === 0)
    return leave.depth === 0 && assertions.some(({ line }) => line > leave.line);
  const body = from === undefined ? undefined : lines.slice(from).find((line) => line.trim() !== '');
  const above = lines[leave.line - 2] ?? '';
  if (/^\s*if\s*\(?\s*(?:True|true|1)\s*\)?\s*[:{]\s*$/.test(above))
    return cutsOff({ ...leave, line: leave.line - 1, depth: indent(above) }, lines, tests, assertions);
  if (body === undefined || leave.depth > indent(body)) return false;
  return assertions.some(({ line, test }) => test === leave.test && line > leave.line);
}

const indent = (line: string): number => line.length - line.trimStart().length;

/** A statement that goes on until its brackets are closed. */
function statement(lines: readonly string[], from: number): string {
  let text = '';
  for (let at = from; at < Math.min(lines.length, from + 15); at++) {
    text += ` ${(lines[at] ?? '').trim()}`;
    const bones = text.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`/g, '');
    const open = (bones.match(/[([{]/g) ?? []).length;
    const shut = (bones.match(/[)\]}]/g) ?? []).length;
    const goesOn = /^\s*\.\w/.test(lines[at + 1] ?? '') || /\\$/.test(lines[at] ?? '');
    if (open <= shut && !goesOn) break;
    // A block that a call or a condition opens is not part of it.
    if (/(?:(?<![,([=:{]\s*)\{|:|=>)\s*$/.test(bones)) break;
  }
  return text.trim();
}

/** Without blanks, quotes of either kind alike, and without what ends a statement. */
const bare = (text: string): string =>
  text
    .replace(/\s+/g, '')
    .replace(/['`]/g, '"')
    .replace(/,(?=[)\]}])/g, '')
    .replace(/;$/, '');

/** Comments made blank, lines kept. A sign within quotes may be taken for one: both versions are read alike. */
export function withoutComments(path: string, text: string): string {
  const hash = /\.(?:py|rb|sh|bash|zsh|bats|pl|exs?|ya?ml|toml)$|(?:^|\/)(?:Makefile|Dockerfile)$/.test(path);
  const blank = (part: string) => part.replace(/[^\n]/g, '');
  if (hash) {
    const left = withoutBlocks(text.replaceAll('\r', '')).replace(/^[ \t]*#(?!!).*$|[ \t]#[ \t].*$/gm, '');
    if (!path.endsWith('.py')) return left;
    // A text that is a statement of its own says nothing.
    // Signs of such a text in another text begin none.
    const texts =
      /("""|''')[\s\S]*?\1|"[^"\\\n]*(?:\\.[^"\\\n]*){0,9999}"|'[^'\\\n]*(?:\\.[^'\\\n]*){0,9999}'/g;
    return left.replace(texts, (whole, sign: string | undefined, at: number) =>
      sign !== undefined && /(?:^|\n)[ \t]*$/.test(left.slice(Math.max(0, at - 200), at))
        ? blank(whole)
        : whole,
    );
  }
  return text
    .replaceAll('\r', '')
    .replace(/\/\*[\s\S]*?\*\//g, blank)
    .replace(/^[ \t]*\/\/(?!go:build ).*$|[ \t]\/\/[ \t].*$/gm, '');
}

/** Without what a script gives to nothing (`: <<END`), and Ruby's comments of several lines. */
function withoutBlocks(text: string): string {
  if (!/^[ \t]*:[ \t]*<<|^=begin\b/m.test(text)) return text;
  const lines = text.split('\n');
  const open = new Set<string>();
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const end = /^=begin\b/.test(line) ? '=end' : /^\s*:\s*<<-?\s*(["']?)(\w+)\1\s*$/.exec(line)?.[2];
    if (end === undefined || open.has(end)) continue;
    let last = at + 1;
    while (last < lines.length && (lines[last] ?? '').trim() !== end) last++;
    if (last === lines.length) open.add(end);
    else {
      lines.fill('', at, last + 1);
      at = last;
    }
  }
  return lines.join('\n');
}
