/** A folder with a pipeline and a `case.json`: one or several runs of the command, and the expectations of them. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endedWith, short } from '../compare.mjs';
import { inFolder } from '../folders.mjs';
import { cleanEnv, clearUp, isAlive, killGroup, runProcess, waitFor } from '../processes.mjs';
import { assertion } from './assertions.mjs';
import { addTree, locator, stage, valuesFor, withValues } from './staging.mjs';

export function batteryCase(id, folder) {
  let raw;
  try {
    raw = JSON.parse(readFileSync(join(folder, 'case.json'), 'utf8'));
  } catch (error) {
    return { id, tags: [], run: async () => ({ problems: [`case.json is not JSON: ${error.message}`] }) };
  }
  const tags = [...(raw.tags ?? []), ...(raw.quirk === true ? ['quirk'] : [])];
  return { id, title: raw.name, tags, note: raw.reason, run: (setting) => runCase(folder, raw, setting) };
}

async function runCase(folder, raw, setting) {
  const unmet = unmetNeed(raw.needs ?? [], setting);
  if (unmet !== undefined) return { skipped: unmet };
  return inFolder(setting, async (root) => {
    const values = valuesFor(root, raw, setting.scripts);
    const described = withValues(raw, values);
    const standing = { values, locate: locator(values), reap: [] };
    const problems = [];
    try {
      stage(folder, described, values);
      const steps = described.steps ?? [described];
      for (const [n, step] of steps.entries()) {
        const title = step.title === undefined || step === described ? '' : ` (${step.title})`;
        const where = steps.length > 1 ? `step ${n + 1}${title}, ` : '';
        const last = n === steps.length - 1 && described.steps !== undefined ? (described.expect ?? []) : [];
        const expected = [...(step.expect ?? []), ...last];
        const found = await runStep(step, n + 1, described, expected, standing, setting);
        problems.push(...found.problems.map((problem) => where + problem));
        if (found.timedOut) break;
      }
    } finally {
      for (const pid of standing.reap.filter(isAlive)) process.kill(pid, 'SIGKILL');
    }
    return { problems };
  });
}

function unmetNeed(needs, { scripts }) {
  if (needs.includes('scripts') && scripts === undefined)
    return 'needs scenarios/preflight_scenario.sh: name their folder with --scripts';
  if (needs.includes('nonroot') && process.getuid?.() === 0) return 'needs a user other than root';
  return undefined;
}

async function runStep(step, number, described, expected, standing, setting) {
  const { values, locate } = standing;
  const { before = {} } = step;
  addTree(values.WORKDIR, before.workdir);
  if (before.ws !== undefined) addTree(values.WS, before.ws);
  if (before.rundir !== undefined) addTree(values.RUNDIR, before.rundir);
  addTree(values.ROOT, before.root);
  if (before.freshRuns === true) rmSync(values.RUNSDIR, { recursive: true, force: true });
  const out = join(values.ROOT, `out.${number}`);
  const err = join(values.ROOT, `err.${number}`);
  const ran = await runProcess(argvOf(step, described, values, setting), {
    cwd: step.cwd ?? values.ROOT,
    env: cleanEnv({
      PATH: `${values.BIN}:${process.env.PATH}`,
      HOME: join(values.ROOT, 'home'),
      TMPDIR: join(values.ROOT, 'tmp'),
      ...described.env,
      ...step.env,
    }),
    timeoutMs: (step.timeout ?? described.timeout ?? 30) * 1000,
    outFile: out,
    errFile: err,
    during: step.kill === undefined ? undefined : (state) => killAt(step.kill, state, locate),
  });
  const here = { ...standing, last: { ...ran, out, err } };
  const problems = [exitProblem(step, ran, err)].filter((problem) => problem !== undefined);
  for (const one of expected) {
    let wrong = assertion(one, here);
    // Ending processes may take a moment.
    for (let tries = 0; wrong !== null && 'pidGone' in one && tries < 30; tries += 1) {
      await sleep(50);
      wrong = assertion(one, here);
    }
    if (wrong !== null) problems.push(wrong);
  }
  clearUp(ran.pid);
  return { problems, timedOut: ran.timedOut };
}

function argvOf(step, described, values, { command }) {
  if (step.cmd !== undefined) return step.cmd;
  if (step.rawArgs !== undefined) return [...command, ...step.rawArgs];
  const pipeline = join(values.ROOT, step.pipeline ?? described.pipeline ?? 'pipeline.dot');
  const flags = [
    '--workdir',
    step.workdirArg ?? values.WORKDIR,
    '--runsdir',
    step.runsdirArg ?? values.RUNSDIR,
  ];
  if (step.runId !== null) flags.push('--run-id', step.runId ?? values.RUNID);
  flags.push(...(step.args ?? []));
  return [
    ...command,
    'run',
    ...(step.argOrder === 'pipeline-first' ? [pipeline, ...flags] : [...flags, pipeline]),
  ];
}

async function killAt({ when, delayMs = 100, group, signal = 'SIGKILL' }, state, locate) {
  if (!(await waitFor(state, () => existsSync(locate(when))))) return;
  await sleep(delayMs);
  if (group === false) state.child.kill(signal);
  else killGroup(state.child.pid, signal);
}

/** The expected end of a step: `ok` (the default), `fail` (1, or 2 for invalid text or flags), `killed` or `any`. */
function exitProblem(step, { code, signal, error, timedOut, elapsed }, err) {
  if (error !== undefined) return `the command: expected a start, got ${error.message}`;
  if (timedOut) return `the command: expected an end, got none within ${Math.round(elapsed / 1000)} s`;
  const got = code ?? signal;
  const wanted = step.expectExit ?? 'ok';
  if (wanted === 'ok' && code !== 0)
    return `exit code: expected 0, got ${got}, saying ${short(readFileSync(err, 'utf8').slice(-290))}`;
  if (wanted === 'killed' && code !== null && code < 128)
    return `exit: expected to be killed, got exit code ${code}`;
  if (wanted !== 'fail') return undefined;
  if (step.exitCode !== undefined)
    return endedWith({ code, signal }, step.exitCode)
      ? undefined
      : `exit code: expected ${step.exitCode}, got ${got}`;
  if (step.cmd !== undefined)
    return code === 0 || code === null ? `exit code: expected not 0, got ${got}` : undefined;
  return code === 1 || code === 2 ? undefined : `exit code: expected 1 or 2, got ${got}`;
}
