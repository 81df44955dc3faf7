/** The built command line, run as a user would run it, in folders that clean themselves up. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { removeTree } from '../../src/platform/files/remove.ts';

export const root = join(import.meta.dirname, '../..');
export const cli = join(root, 'dist/cli.js');

export type Ran = {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** The environment of this process without variables that configure the program under test. */
export function cleanEnv(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (
      value === undefined ||
      /^(ATTRACT(OR|ION)_|FACTORY_|OPENAI_|ANTHROPIC_|CODEX_|GIT_|npm_|NO_COLOR|FORCE_COLOR|VITEST|NODE_OPTIONS)/.test(
        name,
      )
    )
      continue;
    env[name] = value;
  }
  // Tests write outside of the workspace to observe nodes; a confined node may not do that.
  const { FACTORY_SANDBOX = 'none', ...others } = more;
  return { ...env, ...others, ...(FACTORY_SANDBOX === '' ? {} : { FACTORY_SANDBOX }) };
}

export type Home = {
  readonly path: string;
  /** Runs `factory …args` here to its end. `watch` sees standard error line by line, and the process to act on. */
  factory(args: readonly string[], options?: Options): Promise<Ran>;
  read(file: string): Promise<string>;
  json(file: string): Promise<unknown>;
  /** Records of a JSONL file. */
  records(file: string): Promise<Record<string, unknown>[]>;
  list(folder: string): Promise<string[]>;
  [Symbol.asyncDispose](): Promise<void>;
};
export type Options = {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** In a separate process group, which `kill` signals as a whole, as Ctrl-C would. */
  readonly group?: boolean;
  /** The user and group to run it as. */
  readonly uid?: number;
  readonly watch?: (
    line: string,
    process: { readonly pid: number; kill(signal: NodeJS.Signals): void },
  ) => void;
};

/** A temporary folder with `files` in it; it is also HOME, so that no git identity is found. */
export async function home(files: Readonly<Record<string, string>> = {}): Promise<Home> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'factory-test-')));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  const read = (file: string) => readFile(join(path, file), 'utf8');
  return {
    path,
    factory: (args, options = {}) =>
      start([cli, ...args], { ...options, cwd: options.cwd ?? path, env: { HOME: path, ...options.env } }),
    read,
    json: async (file) => JSON.parse(await read(file)),
    records: async (file) =>
      (await read(file))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
    list: async (folder) => (await readdir(join(path, folder))).sort(),
    [Symbol.asyncDispose]: () => removeTree(path),
  };
}

function start(args: readonly string[], options: Options & { readonly cwd: string }): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: options.cwd,
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
      // Who watches waits for a node to start, which is a debug record.
      env: cleanEnv({
        ...(options.watch === undefined ? {} : { FACTORY_LOG_LEVEL: 'debug' }),
        ...options.env,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: options.group === true,
    });
    const kill = (signal: NodeJS.Signals) => {
      if (child.pid !== undefined) process.kill(options.group === true ? -child.pid : child.pid, signal);
    };
    let stdout = '';
    let stderr = '';
    let line = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      const lines = (line + text).split('\n');
      line = lines.pop() ?? '';
      for (const whole of lines) options.watch?.(whole, { pid: child.pid ?? 0, kill });
    });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}
