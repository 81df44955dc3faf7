/** Which files are tests, and which tests they declare: patterns for common languages, not parsers. */

const testFolder = /(?:^|\/)(?:tests?|specs?|__tests__|testing|e2e|testsuite|features|scenarios)\//i;
const testName =
  /(?:^|\/)(?:test_[^/]*|[^/]*_test|[^/]*[.-](?:test|spec|e2e)|[^/]*_spec|tests?|[^/]*[a-z0-9]Tests?|[^/]*[a-z0-9](?:IT|Spec))\.[A-Za-z]+$/;
const code =
  /\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|rb|cs|sh|bash|zsh|bats|php|swift|scala|c|h|cc|cpp|hpp|exs?|pl|t|lua|dart|ps1|vue|svelte)$/i;

/** Whether a file is a test by its name or folder. Files of installed packages are not. */
export const isTestFile = (path: string): boolean =>
  code.test(path) && !isInstalled(path) && (testFolder.test(path) || testName.test(path));

export const isInstalled = (path: string): boolean =>
  /(?:^|\/)(?:node_modules|site-packages|vendor)\//.test(path);

const comments = /^[ \t]*(?:\/\/|#(?!\[)).*$|^[ \t]*\/\*[\s\S]{0,20000}?\*\//gm;

const declarations = [
  // JavaScript, Ruby, Dart, Scala; `skip` and `todo` do not run.
  /(?:^|[;{}>])[ \t]*(?:await\s+|return\s+|void\s+)?(?:it|test|specify|scenario|fit|t\.test|Deno\.test)(?:\.(?:only|each|for|concurrent|sequential|failing|fails))*(?:\s*[(`]|\s+['"]).*/,
  /^[ \t]*(?:async\s+)?def\s+test\w*.*/,
  /^func\s+(?:\(.*?\)\s*)?(?:Test|Fuzz|Example|test)\w*\(.*|\bt\.Run\(.*/,
  /#\[(?:\w+::)*(?:test|rstest|test_case)\b[^(]{0,200}.*/,
  /@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b[^(]{0,200}.*/,
  /\[(?:Fact|Theory|Test|TestMethod|TestCase)\b[^(]{0,200}.*/,
  /\bfunction\s+test\w*\s*\(.*|^[ \t]*(?:test_\w+\s*\(\s*\)|@test\s|subtest\s).*/,
  /^[ \t]*(?:TEST(?:_F|_P|_CASE)?|SCENARIO)\s*\(.*/,
].map((pattern) => pattern.source);
const declaration = new RegExp(declarations.join('|'), 'gm');

/** Markers that keep a declared test, or a group of tests, from running. */
const skipped =
  /\b(?:describe|context|suite)\.skip\b|\bx(?:describe|context)\b|@(?:pytest\.mark\.|unittest\.)?(?:skip|xfail|expectedFailure)\b|^[ \t]*pytestmark\b.*\b(?:skip|xfail)\b|^\tt\.Skip(?:Now|f)?\(|#\[ignore\b|@(?:Disabled|Ignore)\b|\bSkip\s*=\s*"|\{\s*skip:\s*(?:true|['"])|^[ \t]*__test__\s*=\s*False\b/gm;
/** With one of these only the marked tests of a file run. */
const only = /\b(?:it|test|describe|context|suite)\.only\b|\bf(?:it|describe|context)\s*\(|\bonly:\s*true\b/g;

export type Tests = {
  /** The first line of each declaration, white space folded. */
  readonly names: readonly string[];
  /** How many of them run, according to the markers in the file. */
  readonly count: number;
};

/** The tests that a text declares; none for an absent text. */
export function testsIn(text = ''): Tests {
  const bare = text.replace(comments, '');
  const names = [...bare.matchAll(declaration)].map(([found]) => found.replace(/^[;{}>]|\s+/g, ' ').trim());
  const alone = bare.match(only)?.length ?? 0;
  const count = names.length - (bare.match(skipped)?.length ?? 0);
  return { names, count: alone > 0 ? Math.min(alone, count) : count };
}
