/** Checks scenario scripts without running them. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Environment, Spawn } from '../core/contracts/process.ts';
import { readSome } from '../platform/files/read.ts';
import { withoutGit } from '../platform/git.ts';
import { discover, isUserScenario, syntaxCheck } from './discover.ts';
import { productStarts } from './starts.ts';

export type ScenarioFinding = {
  readonly path: string;
  readonly line: number;
  /** A warning does not make the scripts wrong. */
  readonly severity: 'error' | 'warning';
  readonly message: string;
};
export type Linted = { readonly findings: readonly ScenarioFinding[]; readonly scripts: number };

const script = /\.(sh|bash|py|[cm]?js|rb|pl)$/i;

type LintHost = {
  readonly spawn: Spawn;
  readonly env: Environment;
  readonly scratch: string;
  readonly signal: AbortSignal;
};

/** Checks every script directly in a folder, helpers too, or the one file. `shown` is the path in findings; `io.scratch` an empty
 *  folder for output of syntax checkers. */
export async function lintScenarios(place: string, shown: string, io: LintHost): Promise<Linted> {
  const alone = (await stat(place)).isFile();
  const folder = alone ? dirname(place) : place;
  const found = await discover(place);
  const scenarios = found.scenarios.map(({ name }) => name);
  const all = alone ? [basename(place)] : (await readdir(folder)).filter((name) => script.test(name));
  const names = [...new Set([...all, ...scenarios])].sort();
  const findings: ScenarioFinding[] = [];
  let scripts = 0;
  for (const name of names) {
    if (!(await stat(join(folder, name))).isFile()) continue;
    scripts += 1;
    const at = alone ? shown : `${shown.replace(/\/+$/, '')}/${name}`;
    findings.push(...(await syntaxOf(join(folder, name), at, io)));
    findings.push(...lintText(name, await readFile(join(folder, name), 'utf8'), at));
  }
  return { findings, scripts };
}

async function syntaxOf(path: string, shown: string, io: LintHost): Promise<readonly ScenarioFinding[]> {
  const argv = syntaxCheck(path);
  if (argv === undefined) return [];
  const stderrFile = join(io.scratch, 'stderr');
  const ended = await io.spawn.run({
    argv,
    cwd: dirname(path),
    env: withoutGit(io.env),
    stdoutFile: '/dev/null',
    stderrFile,
    timeoutMs: 60_000,
    signal: io.signal,
  });
  if (ended.kind !== 'exited' || ended.code === 0) return [];
  const stderr = (await readSome(stderrFile, 16_384)) ?? '';
  // `x.sh: line 3:`, `x.mjs:3`, `File "x.py", line 3`: the last mention of the script has its line.
  const line = /^\D{0,8}(\d+)/.exec(stderr.slice(stderr.lastIndexOf(path)).slice(path.length))?.[1];
  const what =
    /: line \d+: (.*)/.exec(stderr)?.[1] ?? stderr.split('\n').findLast((one) => /Error: /.test(one)) ?? '';
  return [
    { path: shown, line: Number(line ?? 1), severity: 'error', message: `syntax error: ${what.trim()}` },
  ];
}

/** A variable that names a provider's model. */
const model =
  '(?:\\w*LIVE_MODEL|(?:OPENAI|ANTHROPIC|GEMINI|GOOGLE|MISTRAL|GROQ|XAI|DEEPSEEK|OPENROUTER|AZURE|BEDROCK|COHERE|TOGETHER)_\\w*MODEL)';
/** `X="y"`, `${X:-y}`, `env.get("X", "y")`, `env.X ?? 'y'`. */
const literalModel = [
  new RegExp(`(?<!\\w)${model}=["']?[A-Za-z0-9]`),
  new RegExp(`\\{${model}:?[-=]["']?[A-Za-z0-9]`),
  new RegExp(`(?<!\\w)${model}["'\\]]*\\s*(?:,|\\?\\?|\\|\\||=|:)\\s*["'][A-Za-z0-9]`),
];
const modelName = new RegExp(model);
const fixedPlace = /(?<![\w})./])\/(?:var\/|private\/)?tmp\/[\w.$-]/;

/** The rules that need only the text. Pure. */
export function lintText(name: string, text: string, shown: string): readonly ScenarioFinding[] {
  const lines = text.split('\n');
  const finding = (at: number, message: string): ScenarioFinding => ({
    path: shown,
    line: at + 1,
    severity: 'error',
    message,
  });
  const user = isUserScenario(name);
  const handles = lines.some((line) => !/^\s*(#|\/\/)/.test(line) && line.includes('SCENARIO_MODE'));
  return [
    ...(user && !handles
      ? [finding(0, 'handle SCENARIO_MODE: selftest checks the scenario itself, live the product')]
      : []),
    ...lines.flatMap((line, at) => [
      ...(user && literalModel.some((rule) => rule.test(line))
        ? [
            finding(
              at,
              `${modelName.exec(line)?.[0]} has a default model: leave it empty and query the provider for its models`,
            ),
          ]
        : []),
      ...(fixedPlace.test(line)
        ? [
            finding(
              at,
              'a fixed path for temporary files is shared with other processes: use $SCENARIO_TMP, or mktemp -d',
            ),
          ]
        : []),
    ]),
    ...productStarts(name, text).map(
      (start): ScenarioFinding => ({
        path: shown,
        line: start.line,
        severity: 'warning',
        message: `the product is used without APP_RUN, so it can read this scenario: write "$APP_RUN" before the program (${start.text})`,
      }),
    ),
  ];
}
