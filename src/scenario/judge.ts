/** One scenario and one product: the scenario by itself, then live, in a copy of both that nobody else sees. */
import { randomBytes } from 'node:crypto';
import { type CopyOptions, constants, lstatSync, type Stats } from 'node:fs';
import { copyFile, cp, mkdir, readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
import { checkEnvironment } from '../policy/check-environment.ts';
import { named } from '../system/disk-trouble.ts';
import { type Environment, withoutGit } from '../system/git.ts';
import { makingFolder } from '../system/live.ts';
import { removeTree } from '../system/remove.ts';
import type { Exit } from '../system/spawn.ts';
import { classify, ownLines, type Phase, type Verdict } from './classify.ts';
import { isComponentCheck, type Scenario } from './discover.ts';
import { isCache, type OwnFiles, ownFiles } from './own-files.ts';
import { type Doors, firstUnreachable, type PhaseEnd, runPhase } from './phase.ts';
import type { Evidence, ScenarioOutcome } from './result.ts';
import { isRoomBeside, makeRoom } from './rooms.ts';
import { knowsModes, needsOf } from './text.ts';

export type JudgeOptions = {
  /** Absolute. */
  readonly app: string;
  /** `selftest` leaves the product alone. */
  readonly mode: 'selftest' | 'live';
  /** Whether live is run at all; where it is not, a scenario is `skipped` after its selftest. */
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

/** Runs it once, in a room of its own below the system's temporary folder that is gone afterwards. */
export async function judgeOnce(scenario: Scenario, options: JudgeOptions, doors: Doors): Promise<Judged> {
  const room = await makeRoom(doors.env);
  const cleared = makingFolder(room);
  try {
    // Each in a folder of its own: a product may make something beside itself, and nobody does beside the judge.
    const [judge, product] = [join(room, 'judge'), join(room, 'product')];
    const app = join(product, 'app');
    const folder = join(judge, 'scenarios');
    const temporary = join(room, 'tmp');
    const outputs = join(room, 'out');
    for (const made of [judge, product, temporary, outputs]) await mkdir(made);
    await copy(scenario.folder, folder, room, [], isCache);
    await followLinks(scenario.folder, folder);
    const own = ownFiles(folder, scenario.folder, [room, judge]);
    await copy(options.app, app, room, [scenario.folder]);
    const judged = await phases(scenario, options, doors, { app, folder, temporary, outputs, room }, own);
    // The room is gone when this is read: `app/bin/x` says more than its place.
    const shorter = (text: string): string =>
      [judge, product, room].reduce((said, place) => said.replaceAll(`${place}/`, ''), text);
    const { stdout, stderr } = judged.output;
    const evidence = { ...judged.evidence, why: shorter(judged.evidence.why) };
    return { ...judged, evidence, output: { stdout: shorter(stdout), stderr: shorter(stderr) } };
  } catch (error) {
    // What is written there by several hands at once does not always say where.
    throw named(room, error);
  } finally {
    await removeTree(room);
    cleared();
  }
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
    // Without the checker itself the run will tell.
    if (checked.seen !== undefined && checked.ended.kind !== 'not_found') return failed('selftest', checked);
  }
  const modes = !isComponentCheck(scenario.name) || knowsModes(text);
  if (modes) {
    const selftest = await run('selftest', argv);
    if (selftest.seen !== undefined) return failed('selftest', selftest);
    if (options.mode === 'selftest') return passed('selftest', selftest);
  }
  if (!modes && options.mode === 'selftest')
    return skipped('selftest', 'it has no modes: it is run once, as live');
  if (!options.live)
    return skipped('live', 'live was not wanted (REQUIRE_LIVE=0): nothing was said of the product');
  const missing = needs.variables.find((name) => (doors.env[name] ?? '') === '');
  if (missing !== undefined)
    return lacking(`${missing} is not set (where a pipeline runs this, env_pass="${missing}" hands it on)`);
  const unreachable = await firstUnreachable(needs, doors);
  if (unreachable !== undefined) return lacking(`${unreachable} cannot be reached`);
  own.begin();
  const live = await run('live', argv);
  if (live.seen !== undefined) return failed('live', live, text);
  const changed = own.changed();
  return changed.length === 0 ? passed('live', live) : meddled(live, changed);
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
/** It passed, and not by what it says: a product that it runs may have rewritten it. */
const meddled = ({ stdout, stderr }: PhaseEnd, changed: readonly string[]): Judged => {
  const named = changed.slice(0, 5).join(', ');
  const why = `exit code 0, but files of the scenario were changed while it ran: ${named}. The product must leave them alone; what the scenario writes itself belongs in SCENARIO_TMP`;
  return {
    mode: 'live',
    outcome: 'broken',
    verdict: { class: 'scenario', why },
    evidence: { ...nothing, phase: 'live', exit_code: 0, why },
    output: { stdout, stderr },
    cancelled: false,
  };
};
/** Live could not be begun. */
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

/** A command that says whether the text can be run at all, for the languages that have one. */
export function syntaxCheck(script: string): readonly [string, ...string[]] | undefined {
  if (/\.(sh|bash)$/i.test(script)) return ['bash', '-n', script];
  if (/\.[cm]?js$/i.test(script)) return ['node', '--check', script];
  if (/\.py$/i.test(script))
    return [
      'python3',
      // It begins in the product's folder, whose `ast.py` is none of ours.
      '-I',
      '-c',
      'import ast, sys; ast.parse(open(sys.argv[1], "rb").read(), sys.argv[1])',
      script,
    ];
  return undefined;
}

/** Ours without git's and the engine's own: a scenario, and the product in it, must not speak for a stage. */
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
/** By these the engine finds what a stage leaves behind, and `factory` its Node. */
const keptOfEngine: ReadonlySet<string> = new Set([
  'FACTORY_RUN_MARKER',
  'FACTORY_NODE_EXEC',
  'FACTORY_SANDBOX',
]);

/** Copies a tree without `.git` and `.factory`, without `leaveOut` (absolute) and what is `unwanted` (relative), sockets and
 *  pipes, and without this room and those beside it, where other scenarios lie. */
async function copy(
  from: string,
  to: string,
  room: string,
  leaveOut: readonly string[],
  unwanted: (path: string) => boolean = () => false,
): Promise<void> {
  const top = await realpath(from);
  const out = await Promise.all(leaveOut.map((path) => realpath(path).catch(() => resolve(path))));
  await copyInto(top, to, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (path) => {
      if (path === top) return true;
      if (out.includes(path) || basename(path) === '.git' || isRoomBeside(room, path)) return false;
      const at = relative(top, path);
      if (at.split(sep)[0] === '.factory' || unwanted(at)) return false;
      const is: Stats | undefined = lstatSync(path, { throwIfNoEntry: false });
      return is !== undefined && (is.isFile() || is.isDirectory() || is.isSymbolicLink());
    },
  });
}

/** In the copy `to` the files that links of `from` lead to outside of it: a relative one leads nowhere from there. */
async function followLinks(from: string, to: string): Promise<void> {
  const top = await realpath(from);
  for (const entry of await readdir(to, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const place = join(entry.parentPath, entry.name);
    const real = await realpath(join(top, relative(to, place))).catch(() => undefined);
    if (real === undefined || real.startsWith(`${top}${sep}`) || !(await stat(real)).isFile()) continue;
    await rm(place);
    await copyFile(real, place);
  }
}

type How = CopyOptions & { readonly filter: (path: string) => boolean };

/** Folder by folder where the copy lies in the original, which `cp` refuses whatever is left out: a product may hold the
 *  system's temporary folder. */
async function copyInto(from: string, to: string, how: How): Promise<void> {
  if (!to.startsWith(`${from}/`)) return cp(from, to, how);
  await mkdir(to);
  for (const name of await readdir(from))
    if (how.filter(join(from, name))) await copyInto(join(from, name), join(to, name), how);
}
