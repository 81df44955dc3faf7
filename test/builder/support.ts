/** Temporary folders, a separate git configuration, and run directories as the engine creates them. */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { layout } from '../../src/core/records/layout.ts';
import { commitOrder, treeWith } from '../../src/git/commit.ts';
import { recordBase, startHistory } from '../../src/git/start-history.ts';
import type { CommandIo } from '../../src/platform/command-io.ts';
import { realSpawn } from '../../src/platform/process/spawn.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';

export const when = new Date('2026-01-02T03:04:05Z');
export const emptySha = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export type Files = Readonly<Record<string, string>>;

/** A folder that is removed at the end of its `using`. */
export function folder(files: Files = {}) {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'factory-builder-')));
  put(path, files);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export function put(root: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

/** Every file below `root` as path → content; a link as `-> target`. Top folders named in `but` are left out. */
export function tree(root: string, but: readonly string[] = ['.git', '.factory']): Record<string, string> {
  const found: Record<string, string> = {};
  const walk = (below: string): void => {
    for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (but.includes(path)) continue;
      if (entry.isSymbolicLink()) found[path] = `-> ${readlinkSync(join(root, path))}`;
      else if (entry.isDirectory()) walk(path);
      else found[path] = readFileSync(join(root, path), 'utf8');
    }
  };
  walk('');
  return found;
}

/** No identity and no settings of the machine. */
export const bareEnv = (home: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
});

const identity = [
  '-c',
  'user.name=Ada',
  '-c',
  'user.email=ada@example.test',
  '-c',
  'init.defaultBranch=main',
];
/** Also in a repository of another user, and, for future versions of git, in a bare repository by its folder. */
const anywhere = ['-c', 'safe.directory=*', '-c', 'safe.bareRepository=all'];
export function git(cwd: string, ...args: string[]): string {
  // Some tests read refs as files, which future versions of git write only with this setting.
  const env = { ...bareEnv(cwd), GIT_CONFIG_COUNT: '0', GIT_DEFAULT_REF_FORMAT: 'files' };
  return execFileSync('git', [...anywhere, ...identity, ...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trimEnd();
}

/** Makes `path` a repository and commits its files. */
export function repository(path: string): string {
  git(path, 'init', '-q');
  git(path, 'add', '-A');
  git(path, 'commit', '-q', '--allow-empty', '-m', 'first');
  return git(path, 'rev-parse', 'HEAD');
}

/** A run directory with a history and a workspace, created as the engine does. */
export async function beginRun(options: {
  readonly root: string;
  readonly workdir: string | undefined;
  readonly allowDirty?: boolean;
  readonly env?: Record<string, string>;
  readonly copy?: (workspace: string) => void;
  readonly id?: string;
  readonly sealed?: readonly string[];
}) {
  const env = options.env ?? bareEnv(options.root);
  const runId = options.id ?? 'RUN1';
  const run = layout(join(options.root, 'runs', runId));
  mkdirSync(run.workspace, { recursive: true });
  const { workdir } = options;
  const started = await startHistory({
    workdir,
    historyDir: run.history,
    allowDirty: options.allowDirty === true,
    runId,
    env,
  });
  if ('problem' in started) throw new Error(started.problem.message);
  if (workdir !== undefined) execFileSync('cp', ['-a', `${workdir}/.`, run.workspace]);
  rmSync(join(run.workspace, '.git'), { recursive: true, force: true });
  options.copy?.(run.workspace);
  const sealed = options.sealed ?? [];
  const base = await recordBase({
    historyDir: run.history,
    workspace: run.workspace,
    sealed,
    runId,
    now: when,
    env,
  });
  if ('problem' in base) throw new Error(base.problem.message);
  return { run, runId, started, first: base.firstCommit, env };
}

/** The environment that the engine gives to a tool. */
export function toolIo(begun: Awaited<ReturnType<typeof beginRun>>, node = 'stage') {
  const { run } = begun;
  const nodeDir = run.node(node);
  mkdirSync(nodeDir, { recursive: true });
  const said: string[] = [];
  const output = join(nodeDir, 'output.json');
  const env: Record<string, string> = {
    ...begun.env,
    FACTORY_RUN_DIR: run.root,
    FACTORY_WORKSPACE: run.workspace,
    FACTORY_NODE_DIR: nodeDir,
    FACTORY_RUN_ID: begun.runId,
    FACTORY_OUTPUT: output,
  };
  const io: CommandIo = {
    cwd: run.workspace,
    env,
    out: (text) => void said.push(text),
    err: (text) => void said.push(text),
    now: () => when,
    spawn: realSpawn,
  };
  return {
    io,
    env,
    said,
    output: (): Record<string, unknown> & { context_updates?: Record<string, unknown> } =>
      JSON.parse(readFileSync(output, 'utf8')),
    /** What the engine does before a node. */
    async snapshot(): Promise<string> {
      const taken = await (await openSnapshots({ workspace: run.workspace, dir: run.contents })).take();
      env['FACTORY_SNAPSHOT'] = taken.id;
      return taken.id;
    },
    context(values: Record<string, unknown>): void {
      const file = join(nodeDir, 'context.json');
      writeFileSync(file, JSON.stringify(values));
      env['FACTORY_CONTEXT'] = file;
    },
  };
}

/** Commits paths of the workspace. */
export async function commitPaths(
  options: Omit<Parameters<typeof commitOrder>[0], 'tree'> & { readonly touched: readonly string[] },
) {
  const made = await treeWith({ ...options, paths: options.touched });
  return 'problem' in made ? made : commitOrder({ ...options, tree: made.tree });
}
