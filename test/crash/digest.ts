/** The parts of a run that are compared with the undisturbed one: everything except times, process ids and commit ids. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Story } from './stories.ts';

/** Facts by name, each as text, so that a difference can be shown. */
export type Digest = Readonly<Record<string, string>>;

/** Fields of a checkpoint that must be equal after a resume at any moment. */
const compared = [
  'last_completed_node',
  'completed_nodes',
  'retry_counts',
  'context',
  'next_node',
  'arrived',
  'steps',
  'last_outcome',
  'last_failure',
  'status',
  'ended',
] as const;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const json = async (path: string): Promise<Record<string, unknown>> => {
  const value: unknown = JSON.parse(await readFile(path, 'utf8'));
  return isRecord(value) ? value : {};
};

/** Masks what differs between any two runs. `home` is the folder of the case. */
const masked = (text: string, home: string): string =>
  text
    .replaceAll(home, '<home>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replace(/\bfactory-proof-[\w.-]+/g, 'factory-proof-<x>')
    .replace(/\b[0-9a-f]{40}\b/g, '<commit>')
    .replace(/\b[0-9a-f]{12} (?=WO-)/g, '<commit> ')
    .replace(/a fresh checkout of [0-9a-f]{12}/g, 'a fresh checkout of <commit>')
    .replace(/"(elapsed_ms|duration_ms|pid|startTime|boot)": ?("[^"]*"|[\d.]+)/g, '"$1": "<x>"')
    // Snapshots of trees with commit ids have other names.
    .replace(/"snapshot": ?"[0-9a-f]{64}"/g, '"snapshot": "<tree>"');

/** Artifacts whose whole content differs in every run. */
const volatile = /(^|\/)(stage|verification\.seconds)\.json$/;

/** Digest of the run `runDir` of the folder `home`. */
export async function digestOf(home: string, runDir: string): Promise<Digest> {
  const facts: Record<string, string> = {};
  const checkpoint = await json(join(runDir, 'checkpoint.json'));
  for (const key of compared)
    facts[`checkpoint ${key}`] = masked(JSON.stringify(checkpoint[key]) ?? '', home);
  const result = await json(join(runDir, 'result.json'));
  for (const key of ['status', 'exit_code', 'exit_node', 'reason', 'stages', 'retries', 'proof'])
    facts[`result ${key}`] = masked(JSON.stringify(result[key]) ?? '', home);
  await tree(join(runDir, 'workspace'), '', async (path, text) => {
    facts[`workspace ${path}`] = path.startsWith('.factory/order/') ? masked(text, home) : text;
  });
  const completed = checkpoint['completed_nodes'];
  for (const node of Array.isArray(completed) ? completed : []) {
    // A power cut may take the whole folder: its artifacts are missing then.
    if (!existsSync(join(runDir, String(node)))) continue;
    await tree(join(runDir, String(node)), '', async (path, text) => {
      facts[`artifact ${node}/${path}`] = volatile.test(path) ? '' : masked(text, home);
    });
  }
  const answers = join(runDir, 'answers');
  if (existsSync(answers))
    await tree(answers, '', async (path, text) => {
      facts[`answer ${path}`] = masked(text, home);
    });
  facts['ignored'] = await readFile(join(home, '.factory/.gitignore'), 'utf8');
  const history = join(runDir, 'history.git');
  if (existsSync(history)) {
    const git = (...args: string[]) =>
      promisify(execFile)('git', args, { env: { PATH: process.env['PATH'], GIT_DIR: history } });
    facts['commits'] = (await git('log', '--format=%T %s', 'refs/factory/head')).stdout;
    facts['branch'] = (await git('log', '--format=%T %s', 'refs/heads/factory')).stdout;
    facts['index'] = (await git('ls-files', '--stage')).stdout;
    // Every object of the commits exists and is undamaged.
    await git('fsck', '--strict', '--no-dangling');
  }
  return facts;
}

/** Digest of all files that the story leaves in the folder `home`. */
export async function digestOfAll(home: string, story: Story): Promise<Digest> {
  const facts: Record<string, string> = {};
  for (const run of ['r1', ...(story.runs ?? [])]) {
    const of = await digestOf(home, join(home, '.factory/runs', run));
    for (const [name, fact] of Object.entries(of)) facts[run === 'r1' ? name : `${run} ${name}`] = fact;
  }
  for (const name of story.repositories ?? []) {
    const git = async (...args: string[]) =>
      (await promisify(execFile)('git', ['-C', join(home, name), ...args])).stdout;
    for (const ref of (await git('for-each-ref', '--format=%(refname)')).split('\n').filter(Boolean))
      facts[`${name} ${ref}`] = await git('log', '--format=%T %s', ref);
    facts[`${name} status`] = await git('status', '--porcelain', '--branch');
    await git('fsck', '--strict', '--no-dangling');
  }
  for (const name of story.folders ?? [])
    await tree(join(home, name), '', async (path, text) => {
      facts[`${name} ${path}`] = text;
    });
  return facts;
}

/** Lists every path below `folder`: kind, mode, and content or target. */
async function tree(
  folder: string,
  path: string,
  tell: (path: string, text: string) => Promise<void>,
): Promise<void> {
  for (const name of (await readdir(join(folder, path))).sort()) {
    const at = path === '' ? name : `${path}/${name}`;
    const is = await lstat(join(folder, at));
    const mode = (is.mode & 0o7777).toString(8);
    if (is.isSymbolicLink()) await tell(at, `link ${await readlink(join(folder, at))}`);
    else if (is.isDirectory()) {
      await tell(`${at}/`, mode);
      await tree(folder, at, tell);
    } else await tell(at, `${mode} ${await readFile(join(folder, at), 'latin1')}`);
  }
}

/** Executions as the events tell of them, each as `node@visit`. */
export type Route = {
  /** In the order in which they started. */
  readonly began: readonly string[];
  readonly ended: readonly string[];
  /** Those that started once more after their end. */
  readonly repeated: readonly string[];
};

export async function routeOf(runDir: string): Promise<Route> {
  // Text after the last line end is a partial line.
  const lines = (await readFile(join(runDir, 'events.jsonl'), 'utf8')).split('\n').slice(0, -1);
  const began = new Set<string>();
  const ended = new Set<string>();
  const repeated = new Set<string>();
  for (const line of lines) {
    const event: unknown = JSON.parse(line);
    if (!isRecord(event)) continue;
    const visit = `${String(event['node_id'])}@${String(event['visit'])}`;
    if (event['type'] === 'StageStarted') {
      began.add(visit);
      if (ended.has(visit)) repeated.add(visit);
    }
    if (event['type'] === 'StageCompleted' || event['type'] === 'StageFailed') ended.add(visit);
  }
  return { began: [...began], ended: [...ended], repeated: [...repeated] };
}

/** Temporary files that were never renamed, anywhere below `home` except in the workspaces. */
export async function leftovers(home: string): Promise<string[]> {
  const names = await readdir(home, { recursive: true });
  return names
    .filter((name) => /\.tmp$|\.new$|(^|\/)factory-(pipe|proof|push|pack)-|\.lock$/.test(name))
    .sort();
}

/** Lines that differ, as `name: expected -> found`, a little before the place where they do. */
export function differences(expected: Digest, found: Digest): string[] {
  const from = (a = '', b = '') => {
    let at = 0;
    while (at < a.length && a[at] === b[at]) at++;
    return Math.max(0, at - 60);
  };
  const short = (text: string | undefined, at: number) =>
    text === undefined ? 'nothing' : `${at > 0 ? '…' : ''}${JSON.stringify(text.slice(at, at + 300))}`;
  return [...new Set([...Object.keys(expected), ...Object.keys(found)])]
    .sort()
    .filter((name) => expected[name] !== found[name])
    .map((name) => {
      const at = from(expected[name], found[name]);
      return `${name}: ${short(expected[name], at)} -> ${short(found[name], at)}`;
    });
}
