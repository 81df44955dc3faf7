/** The commands of cases, each with a separate model API. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnv, clearUp, runProcess } from '../processes.mjs';
import { serve } from './server.mjs';

/** Runs `factory …` against a scripted model. Resolves to its end, its output and the requests to the model. `env` has
 *  precedence. */
export async function factory(
  setting,
  { argv, cwd, home, reactions = [], env = {}, timeoutMs = 120_000, during },
) {
  const server = await serve(reactions);
  mkdirSync(home, { recursive: true });
  const outFile = join(home, 'out.txt');
  const errFile = join(home, 'err.txt');
  try {
    const ended = await runProcess([...setting.command, ...argv], {
      cwd,
      outFile,
      errFile,
      timeoutMs,
      during,
      env: cleanEnv({
        HOME: home,
        XDG_CONFIG_HOME: join(home, '.config'),
        GIT_CONFIG_NOSYSTEM: '1',
        OPENAI_API_KEY: 'sk-conformance-0123456789',
        OPENAI_BASE_URL: server.url,
        // No delays for model calls.
        FACTORY_POLL_INTERVAL: '200ms',
        ...env,
      }),
    });
    const text = (file) => readFileSync(file, 'utf8');
    return {
      ...ended,
      stdout: text(outFile),
      stderr: text(errFile),
      requests: server.requests,
      prompts: server.prompts(),
    };
  } finally {
    server.close();
  }
}

/** `factory order run` with one work order; `stages` are those at which its attempts failed, null for one that passed. */
export async function orderCommand(setting, { root, repo, order, answers, flags }) {
  const work = join(root, 'work');
  const artifacts = join(root, 'artifacts');
  mkdirSync(work, { recursive: true });
  writeFileSync(join(work, 'order.json'), JSON.stringify(order));
  const ended = await factory(setting, {
    argv: [
      'order',
      'run',
      '--repo',
      repo,
      '--work-order',
      'order.json',
      '--artifacts-dir',
      artifacts,
      ...flags,
    ],
    cwd: work,
    home: join(root, 'home'),
    reactions: answers,
  });
  clearUp(ended.pid);
  const newest = newestRun(artifacts, 'factory');
  const summary = newest === undefined ? undefined : readJson(join(newest, 'run_summary.json'));
  return { ...ended, calls: ended.prompts.length, stages: stagesOf(summary) };
}

export const stagesOf = (summary) =>
  summary?.attempts?.map((attempt) => attempt.failure_brief?.stage ?? null);

/** The folder of the newest run of a kind (`planner`, `factory`) in an artifact tree. */
export function newestRun(artifacts, kind) {
  const folder = join(artifacts, kind);
  if (!existsSync(folder)) return undefined;
  const runs = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, born: statSync(join(folder, name)).birthtimeMs }))
    .sort((a, b) => a.born - b.born || (a.name < b.name ? -1 : 1));
  const last = runs.at(-1);
  return last === undefined ? undefined : join(folder, last.name);
}

/** A JSON file's value; undefined if it is missing or not JSON. */
export function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
