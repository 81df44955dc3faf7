/** Child processes of the cases, each in a separate process group, so that no descendant is left running. */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const running = new Set();

/** Runs a command with its output in files; `during(child)` can act on it while it runs. Resolves to `{ code, signal,
 *  timedOut, elapsed, pid, error? }` at its end. */
export async function runProcess(argv, { cwd, env, timeoutMs, outFile, errFile, during }) {
  const files = [openSync(outFile, 'w'), openSync(errFile, 'w')];
  const began = performance.now();
  const child = spawn(argv[0], argv.slice(1), { cwd, env, stdio: ['ignore', ...files], detached: true });
  for (const file of files) closeSync(file);
  if (child.pid !== undefined) running.add(child.pid);
  const state = { child, done: false };
  const exited = new Promise((end) => {
    child.once('error', (error) => end({ code: null, signal: null, error }));
    child.once('exit', (code, signal) => end({ code, signal }));
  }).finally(() => {
    state.done = true;
  });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup(child.pid, 'SIGKILL');
  }, timeoutMs);
  await during?.(state);
  const ended = await exited;
  clearTimeout(timer);
  return { ...ended, timedOut, elapsed: performance.now() - began, pid: child.pid };
}

/** Waits until `ready()` or the end of the process; resolves to whether it became ready. */
export async function waitFor(state, ready) {
  while (!state.done && !ready()) await sleep(20);
  return !state.done;
}

/** Ends the rest of the process group of a process started by `runProcess`. */
export function clearUp(pid) {
  killGroup(pid, 'SIGKILL');
  running.delete(pid);
}

/** Ends all running processes when the runner is interrupted. */
export function endRemaining() {
  for (const pid of running) killGroup(pid, 'SIGKILL');
}

export function killGroup(pid, signal) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}

/** Whether a process runs; zombies do not count. */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return process.platform !== 'linux';
  }
}

const ours =
  /^(ATTRACT(OR|ION)_|FACTORY_|SCENARIO_MODE$|REQUIRE_LIVE$|OPENAI_|ANTHROPIC_|CODEX_|GIT_|NO_COLOR$|FORCE_COLOR$|ARTIFACTS_DIR$)/;

/** This environment without variables that would choose agents, models or settings for a case. */
export function cleanEnv(more) {
  const kept = Object.entries(process.env).filter(([name]) => !ours.test(name));
  // Agent stubs write their records outside the workspace.
  const env = { ...Object.fromEntries(kept), FACTORY_SANDBOX: 'none', ...more };
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== null && value !== undefined));
}
