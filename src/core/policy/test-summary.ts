/** Test runners and the summaries with which they end. A runner is listed where it is certain that each of its usual reporters prints
 *  one of them; settings that choose another reporter take it off the list. */
import { noTestRan } from './test-files.ts';

/** A test runner that a command starts. */
export type StartedRunner = {
  readonly name: string;
  /** What silences it, as its user wrote it. */
  readonly silencer?: string | undefined;
  /** Matches its summary; undefined for a runner that a product cannot silence. */
  readonly summary?: RegExp;
  /** Matches what it prints for each of several programs, of which each ends with a summary. */
  readonly each?: RegExp;
  /** Matches its totals; with a group only if tests failed. */
  readonly totals?: RegExp;
  /** Whether its failure is the failure of the whole command. */
  readonly decides: boolean;
};

type Spec = {
  readonly program: RegExp;
  /** The command of the program that runs tests. */
  readonly command?: RegExp;
  readonly summary?: RegExp;
  readonly each?: RegExp;
  readonly totals?: RegExp;
  /** Options of other reports, other purposes, or of other places for the output. */
  readonly unless?: RegExp;
  /** Files that may choose another reporter, and how. */
  readonly settings?: readonly string[];
  readonly chooses?: RegExp;
  /** What in the options, and the texts of `quietIn`, silences the runner. */
  silencer?(options: string): string | undefined;
  readonly quietIn?: readonly string[];
};

const found =
  (pattern: RegExp) =>
  (options: string): string | undefined =>
    pattern.exec(options)?.[0].trim();
/** Reports that several runners print on demand. */
const tap = String.raw`^1\.\.\d+|^# tests\s+\d+`;
const lines = (...parts: readonly string[]): RegExp => new RegExp(parts.join('|'), 'm');
const scripts = ['js', 'mjs', 'cjs', 'ts', 'mts', 'cts', 'json'];
const configs = (...names: readonly string[]): string[] =>
  names.flatMap((name) => scripts.map((ending) => `${name}.${ending}`));

const specs: readonly Spec[] = [
  {
    program: /^(?:pytest|py\.test)$/,
    summary: lines(
      String.raw`\b\d+ (?:passed|failed|skipped|xfailed|xpassed|deselected|errors?|warnings?)\b`,
      String.raw`\bno tests (?:ran|collected)|^Results \(`,
      tap,
    ),
    totals: /^(?:=+ )?(?=\d+ \w+)(?:(?:\d+ \w+, )*(\d+ (?:failed|errors?))\b)?.* in [\d.]+s\b.*$/gm,
    unless:
      / (?:--co|--collect-only|--fixtures\S*|--markers|--version|-V|--help|-h|--setup-plan|--cache-show)\b/,
    silencer: (options) =>
      found(/ -p[ =]?no:terminal/)(options) ?? (quietness(options) >= 2 ? shownQuiet(options) : undefined),
    quietIn: ['pytest.ini', 'pyproject.toml', 'setup.cfg', 'tox.ini'],
  },
  {
    program: /^unittest$/,
    summary: lines(String.raw`^Ran \d+ tests? in |^NO TESTS RAN`),
    totals: /^Ran \d+ tests? in .*\s+(FAILED \()?/gm,
    unless: / (?:-h|--help)\b/,
  },
  {
    program: /^(?:node|nodejs|tsx)$/,
    command:
      /^(?: (?:-r|-C|--import|--require|--loader|--experimental-loader|--conditions) \S+| -\S*)* --test(?: |$)/,
    summary: lines(String.raw`^\s*(?:#|ℹ)\s*tests \d+|<!-- tests \d+ -->`),
    totals: /^\s*(?:#|ℹ) fail (?:0|(\d+))$/gm,
    unless: / --test-reporter(?:-destination|[ =](?!spec|tap|dot|junit))/,
    silencer: found(/ --test-reporter[ =]dot\b/),
  },
  {
    program: /^_?mocha$/,
    summary: lines(String.raw`^\s*\d+ passing\b|"passes": ?\d+|\["end",|<testsuite `, tap),
    totals: /^\s*\d+ passing\b.*(?:\n\s*\d+ pending\b.*)?(\n\s*\d+ failing\b)?/gm,
    unless:
      / (?:(?:--reporter|-R)[ =](?!spec|dot|min|nyan|list|landing|progress|json|json-stream|xunit|tap)|--reporter-options?|-O|--dry-run|--help|-h|--version|-V|--list-\S*|init)\b/,
    settings: [...configs('.mocharc'), '.mocharc.yaml', '.mocharc.yml', '.mocharc.jsonc', 'package.json'],
    chooses: /reporter/i,
  },
  {
    program: /^jest$/,
    summary: lines(String.raw`^Tests:\s+.*\btotal\b|"numTotalTests": ?\d+`),
    totals: /^Tests:\s+(\d+ failed)?.*\btotal\b/gm,
    unless:
      / (?:--reporters|--listTests|--showConfig|--clearCache|--init|--help|-h|--version|-v|--config|-c)\b/,
    settings: [...configs('jest.config'), 'package.json'],
    chooses: /reporter/i,
  },
  {
    program: /^vitest$/,
    command: /^(?! (?:list|init|bench|typecheck|watch|dev)\b)/,
    summary: lines(
      String.raw`^\s*(?:Tests|Test Files)\s+(?:no tests|\d+)|"numTotalTests": ?\d+|<testsuites|^TAP version`,
      tap,
    ),
    totals: /^\s*Tests\s+(\d+ failed)?.*\(\d+\)/gm,
    unless:
      / (?:--reporter[ =](?!default|verbose|dot|json|junit|tap)|--outputFile|--config|-c|--help|-h|--version|-v|--merge-?reports)\b/i,
    settings: configs('vitest.config', 'vite.config', 'vitest.workspace'),
    chooses: /reporter/i,
  },
  { program: /^ava$/, summary: lines(String.raw`^\s*\d+ tests? (?:passed|failed|skipped|todo)`, tap) },
  { program: /^tape$/, summary: lines(tap) },
  {
    program: /^bats$/,
    summary: lines(String.raw`^\d+ tests?, \d+ failures?|<testsuites`, tap),
    unless: / (?:-c|--count|-F|--formatter|-h|--help|-v|--version)\b/,
  },
  {
    program: /^bun$/,
    command: /^ test\b/,
    summary: lines(String.raw`^\s*\d+ (?:pass|fail|skip|todo)\b|^Ran \d+ tests? across`),
  },
  {
    program: /^deno$/,
    command: /^ test\b/,
    summary: lines(String.raw`\b\d+ passed\b.*\b\d+ failed\b|<testsuites`, tap),
    unless: / (?:-q|--quiet|--reporter|--no-run|--help|-h|--doc)\b/,
  },
  {
    program: /^rspec$/,
    summary: lines(String.raw`\b\d+ examples?, \d+ failures?|"example_count":`),
    totals: /^\d+ examples?, (?:0|(\d+)) failures?/gm,
    unless: / (?:-o|--out|(?:-f ?|--format[ =])(?!p|d|j|h| )|--dry-run|--help|-h|--version|-v)\b/,
    settings: ['.rspec', '.rspec-local'],
    chooses: /(?:^|\s)(?:-o|--out|-f|--format)\b/,
  },
  {
    program: /^phpunit$/,
    summary: lines(String.raw`^OK\b|^Tests: \d+|##teamcity\[testCount|^No tests executed`),
    unless: / --(?:list-\S*|help|version|migrate-\S*|generate-\S*|check-\S*)/,
    settings: ['phpunit.xml', 'phpunit.xml.dist', 'phpunit.dist.xml'],
    chooses: /printerClass|<listeners|<extensions/i,
    silencer: found(/ --no-(?:output|results)\b/),
  },
  {
    program: /^cargo$/,
    command: /^(?: \+\S+)? (?:t|test)\b/,
    each: /^running \d+ tests?$/gm,
    summary: /^test result: /gm,
    unless: / --(?:no-run|list|help|message-format\S*)\b/,
  },
  { program: /^cargo$/, command: /^ nextest run\b/, unless: / --no-run\b/ },
  { program: /^go$/, command: /^ test\b/, unless: / -(?:c|n|list|exec|json)\b/ },
  { program: /^ctest$/, unless: / (?:-N|--show-only)\b/ },
  { program: /^prove$/ },
  { program: /^mix$/, command: /^ test\b/ },
  { program: /^dotnet$/, command: /^ test\b/, unless: / (?:-t|--list-tests)\b/ },
  { program: /^mvnw?$/, command: / (?:test|verify|install)\b/, unless: / -D(?:skipTests|maven\.test\.skip)/ },
];

/** Options with which a runner's success without tests is wanted, or nothing is run. */
const allowsEmpty = / --?(?:pass-?with-?no-?tests|if-present)\b/i;

/** The runner that a program with these arguments is; undefined if it is none, or its summary is not known for certain. `read` gives
 *  the texts of settings in its folder. */
export async function runnerOf(
  program: string,
  words: readonly string[],
  read: (name: string) => Promise<string | undefined>,
): Promise<Omit<StartedRunner, 'decides'> | undefined> {
  const options = words.map((word) => ` ${word}`).join('');
  const spec = specs.find((one) => one.program.test(program) && (one.command?.test(options) ?? true));
  if (spec === undefined || allowsEmpty.test(options) || spec.unless?.test(options) === true)
    return undefined;
  const { summary, each, totals, chooses, settings = [] } = spec;
  for (const name of settings) if (chooses?.test((await read(name)) ?? '') === true) return undefined;
  const added = await Promise.all(
    (spec.quietIn ?? []).map(async (name) => quietOptions((await read(name)) ?? '')),
  );
  const silencer = spec.silencer?.(`${added.join('')}${options}`);
  return {
    name: program,
    ...(silencer === undefined ? {} : { silencer }),
    ...(summary === undefined ? {} : { summary }),
    ...(each === undefined ? {} : { each }),
    ...(totals === undefined ? {} : { totals }),
  };
}

/** Options that a settings file of pytest adds. */
const quietOptions = (text: string): string =>
  (/^\s*addopts\s*=\s*(.*(?:\n[ \t]+\S.*)*)/m.exec(text)?.[1] ?? '')
    .split(/[\s"',[\]]+/)
    .map((word) => ` ${word}`)
    .join('');
const quiet = / (?:-(q+)|--quiet)(?= |$)/g;
const quietness = (options: string): number =>
  [...options.matchAll(quiet)].reduce((sum, [, letters = 'q']) => sum + letters.length, 0) -
  [...options.matchAll(/ (?:-(v+)|--verbose)(?= |$)/g)].reduce(
    (sum, [, letters = 'v']) => sum + letters.length,
    0,
  );
const shownQuiet = (options: string): string =>
  [...options.matchAll(quiet)].map(([text]) => text.trim()).join(' ');

/** Terminal sequences. */
const sequences = new RegExp(`${String.fromCharCode(27)}\\[[\\d;?]*[A-Za-z]`, 'g');

/** Why the output of a successful command shows that its runners ran no test; undefined if it does not. */
export function untested(output: string, runners: readonly StartedRunner[]): string | undefined {
  const none = noTestRan(output);
  if (none !== undefined) return none;
  const text = output.replace(sequences, '');
  // Nothing was run anew.
  if (/\bis up to date\b|\bNothing to be done\b/.test(text)) return undefined;
  const silent = runners.find((runner) => isSilent(runner, text));
  if (silent === undefined) return undefined;
  const { name, silencer, each } = silent;
  if (each !== undefined) return `no summary of ${name} for a part of the tests: a test program ended early`;
  return silencer === undefined
    ? `no test ran: the output has no summary of ${name}`
    : `no test ran: the output has no summary of ${name}, which ${silencer} silences`;
}

function isSilent({ summary, each }: StartedRunner, text: string): boolean {
  if (summary === undefined) return false;
  if (each === undefined) return !summary.test(text);
  return (text.match(each)?.length ?? 0) > (text.match(summary)?.length ?? 0);
}

/** Why the output of a successful command shows that tests failed: a product can end its runner. */
export function failedTests(output: string, runners: readonly StartedRunner[]): string | undefined {
  const text = output.replace(sequences, '');
  const failed = runners.find(
    ({ totals, decides }) =>
      decides && totals !== undefined && [...text.matchAll(totals)].at(-1)?.[1] !== undefined,
  );
  return failed === undefined ? undefined : `${failed.name} reports failed tests, but ended with success`;
}
