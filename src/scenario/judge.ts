/** Runs one scenario against one product: first its selftest, then live, in private copies of both. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkEnvironment } from '../policy/check-environment.ts';
import { type Environment, withoutGit } from '../system/git.ts';
import { removeTree } from '../system/remove.ts';
import type { Exit } from '../system/spawn.ts';
import { classify, ownLines, type Phase, type Verdict } from './classify.ts';
import { isComponentCheck, type Scenario } from './discover.ts';
import { type OwnFiles, ownFiles } from './own-files.ts';
import { type Doors, firstUnreachable, type PhaseEnd, runPhase } from './phase.ts';
import type { Evidence, ScenarioOutcome } from './result.ts';
import { roomsBeside } from './rooms.ts';
import { copyOfSource, type Source } from './source.ts';
import { knowsModes, needsOf } from './text.ts';

export type JudgeOptions = {
  /** Absolute. */
  readonly app: string;
  /** `selftest` leaves the product alone. */
  readonly mode: 'selftest' | 'live';
  /** Whether live is run at all; without it, a scenario is `skipped` after its selftest. */
  readonly live: boolean;
  readonly timeoutMs: number;
};

/** One run of one scenario. */
export type Judged = {
  readonly mode: 'selftest' | 'live';
  readonly outcome: Exclude<ScenarioOutcome, 'flaky'>;
  readonly verdict?: Verdict;
  readonly evidence: Omit<Evidence, 'rerun'>;
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly cancelled: boolean;
};

/** Runs a scenario once, in a separate folder below `room` that is removed afterwards. */
export async function judgeOnce(
  scenario: Scenario,
  options: JudgeOptions,
  doors: Doors,
  { room, source }: { readonly room: string; readonly source: Source },
): Promise<Judged> {
  // Names that no product can know from another run.
  const base = join(room, word());
  await mkdir(base);
  try {
    // Separate folders: a product may create files next to itself, but no program may do so next to the scenarios.
    const [judge, product] = [join(base, `judge-${word()}`), join(base, 'product')];
    const app = join(product, 'app');
    const folder = join(judge, 'scenarios');
    const temporary = join(base, 'tmp');
    const outputs = join(base, 'out');
    for (const made of [judge, product, temporary, outputs]) await mkdir(made);
    if ((await copyOfSource(source, folder)) === undefined) return meddled(options.mode);
    const own = ownFiles(folder, source.folder, [base, judge]);
    await doors.copyProduct(options.app, app, await besideProduct(scenario, options, room));
    const judged = await phases(
      scenario,
      options,
      doors,
      { app, folder, temporary, outputs, room: base },
      own,
    );
    // The temporary folder does not exist when this is read: shows `app/bin/x` instead of the full path.
    const shorter = (text: string): string =>
      [judge, product, base].reduce((shortened, place) => shortened.replaceAll(`${place}/`, ''), text);
    const { stdout, stderr } = judged.output;
    const evidence = { ...judged.evidence, why: shorter(judged.evidence.why) };
    return { ...judged, evidence, output: { stdout: shorter(stdout), stderr: shorter(stderr) } };
  } finally {
    await removeTree(base);
  }
}

const word = (): string => randomBytes(8).toString('hex');

/** What is not copied with the product: the engine's folder, the scenarios, and folders of other runs of scenarios. */
async function besideProduct({ folder }: Scenario, { app }: JudgeOptions, room: string): Promise<string[]> {
  return [join(app, '.factory'), folder, ...(await roomsBeside(room))];
}

type Room = Readonly<Record<'app' | 'folder' | 'temporary' | 'outputs' | 'room', string>>;

async function phases(
  scenario: Scenario,
  options: JudgeOptions,
  doors: Doors,
  room: Room,
  own: OwnFiles,
): Promise<Judged> {
  const script = join(room.folder, scenario.name);
  const text = await readFile(script, 'utf8');
  const needs = needsOf(text);
  const id = randomBytes(8).toString('hex');
  const request = (phase: Phase, argv: readonly [string, ...string[]]) => ({
    phase,
    argv,
    script,
    app: room.app,
    env: environment(doors.env, phase === 'live' ? 'live' : 'selftest', { options, room, id }),
    marker: `SCENARIO_RUN_ID=${id}`,
    outputs: room.outputs,
    timeoutMs: options.timeoutMs,
    needs,
  });
  const run = (phase: Phase, argv: readonly [string, ...string[]]) => runPhase(request(phase, argv), doors);
  const [program = script, ...before] = [...scenario.interpreter, script];
  const argv: readonly [string, ...string[]] = [program, ...before, room.app];

  const check = syntaxCheck(script);
  if (check !== undefined) {
    const checked = await run('syntax', check);
    // If the checker is missing, the next phase reports errors.
    if (checked.seen !== undefined && checked.ended.kind !== 'not_found') return failed('selftest', checked);
  }
  const modes = !isComponentCheck(scenario.name) || knowsModes(text);
  if (modes) {
    const selftest = await run('selftest', argv);
    if (selftest.seen !== undefined) return failed('selftest', selftest);
    if (options.mode === 'selftest') return passed('selftest', selftest);
  }
  if (!modes && options.mode === 'selftest')
    return skipped('selftest', 'it has no modes: it runs once, as live');
  if (!options.live) return skipped('live', 'live is off (REQUIRE_LIVE=0): the product was not tested');
  const missing = needs.variables.find((name) => (doors.env[name] ?? '') === '');
  if (missing !== undefined)
    return lacking(`${missing} is not set (in a pipeline, pass it with env_pass="${missing}")`);
  const unreachable = await firstUnreachable(needs, doors);
  if (unreachable !== undefined) return lacking(`${unreachable} cannot be reached`);
  own.begin();
  const live = await run('live', argv);
  if (live.seen !== undefined) return failed('live', live, text);
  const changed = own.changed();
  return changed.length === 0 ? passed('live', live) : meddled('live', live, changed);
}

const nothing = { exit_code: null, signal: null, timeout: null, marker: null } as const;
const silent = { stdout: '', stderr: '' } as const;

const passed = (mode: 'selftest' | 'live', { stdout, stderr }: PhaseEnd): Judged => ({
  mode,
  outcome: 'pass',
  evidence: { ...nothing, phase: mode, exit_code: 0, why: 'exit code 0' },
  output: { stdout, stderr },
  cancelled: false,
});
const skipped = (mode: 'selftest' | 'live', why: string): Judged => ({
  mode,
  outcome: 'skipped',
  evidence: { ...nothing, phase: mode, why },
  output: silent,
  cancelled: false,
});
/** The scenario's files were changed: before it ran, or while it passed. The product may have rewritten it. */
const meddled = (mode: 'selftest' | 'live', end?: PhaseEnd, changed: readonly string[] = []): Judged => {
  const when =
    end === undefined
      ? 'files of the scenario were changed after they were copied, before it was run'
      : `exit code 0, but files of the scenario were changed while it ran: ${changed.slice(0, 5).join(', ')}`;
  const why = `${when}. The product must leave them alone; what the scenario writes itself belongs in SCENARIO_TMP`;
  return {
    mode,
    outcome: 'broken',
    verdict: { class: 'scenario', why },
    evidence: { ...nothing, phase: mode, exit_code: end === undefined ? null : 0, why },
    output: end === undefined ? silent : { stdout: end.stdout, stderr: end.stderr },
    cancelled: false,
  };
};
/** Live could not be started. */
const lacking = (why: string): Judged => ({
  mode: 'live',
  outcome: 'fail',
  verdict: { class: 'infra', why },
  evidence: { ...nothing, phase: 'live', why },
  output: silent,
  cancelled: false,
});

function failed(mode: 'selftest' | 'live', { ended, stdout, stderr, seen }: PhaseEnd, text = ''): Judged {
  if (seen === undefined) throw new Error('Internal: a phase that passed has not failed');
  const verdict = classify({ ...seen, ownLines: ownLines(text, `${stderr}\n${stdout}`) });
  return {
    mode,
    outcome: verdict.class === 'scenario' ? 'broken' : 'fail',
    verdict,
    evidence: { ...endOf(ended), phase: seen.phase, marker: seen.marker ?? null, why: verdict.why },
    output: { stdout, stderr },
    cancelled: ended.kind === 'cancelled',
  };
}

const endOf = (ended: Exit) => ({
  exit_code: ended.kind === 'exited' ? ended.code : null,
  signal: ended.kind === 'signalled' ? ended.signal : null,
  timeout: ended.kind === 'timed_out' ? ended.afterMs : null,
});

/** A command that checks the script's syntax, for languages that have one. */
export function syntaxCheck(script: string): readonly [string, ...string[]] | undefined {
  if (/\.(sh|bash)$/i.test(script)) return ['bash', '-n', script];
  if (/\.[cm]?js$/i.test(script)) return ['node', '--check', script];
  if (/\.py$/i.test(script))
    return [
      'python3',
      // Isolated mode: the product's folder, where it starts, may contain an `ast.py`.
      '-I',
      '-c',
      'import ast, sys; ast.parse(open(sys.argv[1], "rb").read(), sys.argv[1])',
      script,
    ];
  return undefined;
}

/** The environment without variables of git and of the engine: a scenario or product must not write a node's output. */
function environment(
  env: Environment,
  mode: 'selftest' | 'live',
  { options, room, id }: { readonly options: JudgeOptions; readonly room: Room; readonly id: string },
): Record<string, string> {
  const given = Object.entries(withoutGit(env)).filter(
    ([name]) => !name.startsWith('FACTORY_') || keptOfEngine.has(name),
  );
  return {
    ...Object.fromEntries(given),
    ...checkEnvironment(env),
    SCENARIO_MODE: mode,
    REQUIRE_LIVE: options.live ? '1' : '0',
    SCENARIO_TMP: room.temporary,
    TMPDIR: room.temporary,
    SCENARIO_RUN_ID: id,
  };
}
/** Variables by which the engine finds leftover processes, and `factory` its Node.js. */
const keptOfEngine: ReadonlySet<string> = new Set([
  'FACTORY_RUN_MARKER',
  'FACTORY_NODE_EXEC',
  'FACTORY_SANDBOX',
]);
