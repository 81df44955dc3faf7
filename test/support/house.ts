/** Commands called in this process, in a separate folder that is removed afterwards. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CheckoutOptions } from '../../src/commands/checkout.ts';
import { checkoutCommand } from '../../src/commands/checkout.ts';
import type { ForkOptions } from '../../src/commands/fork.ts';
import { forkCommand } from '../../src/commands/fork.ts';
import { recordExport } from '../../src/commands/record.ts';
import type { ReplayOptions } from '../../src/commands/replay.ts';
import { replayCommand } from '../../src/commands/replay.ts';
import type { RunOptions } from '../../src/commands/run.ts';
import { resumeCommand, runCommand } from '../../src/commands/run.ts';
import type { RunsOptions } from '../../src/commands/runs.ts';
import { runsCommand } from '../../src/commands/runs.ts';
import type { ShowOptions } from '../../src/commands/show.ts';
import { showCommand } from '../../src/commands/show.ts';
import { type Clock, realClock } from '../../src/system/clock.ts';
import { realEvery } from '../../src/system/every.ts';
import { removeTree } from '../../src/system/remove.ts';
import { cleanEnv } from './cli.ts';

export type Told = { readonly code: number; readonly out: string; readonly err: string };

/** `stop` is called with each line on standard error; once it answers true the run is interrupted. */
export type Stop = (line: string) => boolean;

/** `env` gets the path of the folder. */
export async function house(
  files: Readonly<Record<string, string>>,
  env: (path: string) => Readonly<Record<string, string>> = () => ({}),
  clock: Clock = realClock,
) {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'factory-house-')));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  let now: Readonly<Record<string, string>> = env(path);
  const doors = (stop: Stop = () => false, controller = new AbortController()) => {
    const told = { out: '', err: '' };
    const io = {
      cwd: path,
      env: cleanEnv({ HOME: path, ...now }),
      out: (text: string) => {
        told.out += text;
      },
      err: (text: string) => {
        told.err += text;
        if (stop(text)) controller.abort('SIGTERM');
      },
      outIsTerminal: false,
      errIsTerminal: false,
      width: 100,
      clock,
      every: realEvery,
      signal: controller.signal,
    };
    return { io, told };
  };
  return {
    path,
    async run(pipeline: string, options: RunOptions, stop?: Stop): Promise<Told> {
      const { io, told } = doors(stop);
      return { code: await runCommand(pipeline, options, io), ...told };
    },
    /** Interrupts the run as soon as `met` answers true. */
    async runUntil(pipeline: string, options: RunOptions, met: () => boolean): Promise<Told> {
      const controller = new AbortController();
      const { io, told } = doors(undefined, controller);
      const looking = setInterval(() => met() && controller.abort('SIGTERM'), 20);
      const code = await runCommand(pipeline, options, io);
      clearInterval(looking);
      return { code, ...told };
    },
    async fork(run: string, options: ForkOptions, stop?: Stop): Promise<Told> {
      const { io, told } = doors(stop);
      return { code: await forkCommand(run, options, io), ...told };
    },
    async resume(run: string, options: RunOptions = {}, stop?: Stop): Promise<Told> {
      const { io, told } = doors(stop);
      return { code: await resumeCommand(run, options, io), ...told };
    },
    async runs(options: RunsOptions = {}): Promise<Told> {
      const { io, told } = doors();
      return { code: await runsCommand(options, io), ...told };
    },
    async show(run: string, options: ShowOptions = {}): Promise<Told> {
      const { io, told } = doors();
      return { code: await showCommand(run, options, io), ...told };
    },
    async replay(run: string, options: ReplayOptions = {}, stop?: Stop): Promise<Told> {
      const { io, told } = doors(stop);
      return { code: await replayCommand(run, options, io), ...told };
    },
    async exported(run: string, output?: string): Promise<Told> {
      const { io, told } = doors();
      return { code: await recordExport(run, output === undefined ? {} : { output }, io), ...told };
    },
    /** Sets the environment of later commands. */
    environment(vars: Readonly<Record<string, string>>): void {
      now = vars;
    },
    async checkout(run: string, dir: string, options: CheckoutOptions = {}): Promise<Told> {
      const { io, told } = doors();
      return { code: await checkoutCommand(run, dir, options, io), ...told };
    },
    read: (file: string): string => readFileSync(join(path, file), 'utf8'),
    json: (file: string) => JSON.parse(readFileSync(join(path, file), 'utf8')),
    records: (file: string): Record<string, unknown>[] =>
      readFileSync(join(path, file), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    [Symbol.asyncDispose]: () => removeTree(path),
  };
}

/** Every path below `root` with its kind, mode, and what it holds or points at. */
export function treeOf(root: string, but: readonly string[] = []): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
    if (but.some((one) => name === one || name.startsWith(`${one}/`))) continue;
    const at = join(root, name);
    const is = lstatSync(at);
    const mode = (is.mode & 0o7777).toString(8);
    if (is.isSymbolicLink()) found[name] = `-> ${readlinkSync(at)}`;
    else if (is.isDirectory()) found[name] = `folder ${mode}`;
    else found[name] = `${mode} ${createHash('sha256').update(readFileSync(at)).digest('hex')}`;
  }
  return found;
}
