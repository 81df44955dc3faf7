/** Commands called in this process, in a separate folder that is removed afterwards. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Clock } from '../../src/core/contracts/clock.ts';
import { realClock } from '../../src/platform/clock.ts';
import { removeTree } from '../../src/platform/files/remove.ts';
import { cleanEnv } from './cli.ts';
import { call, type Flags, type Told } from './verb.ts';

export type { Told } from './verb.ts';

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
  const called = (
    words: readonly string[],
    flags: Flags = {},
    stop: Stop = () => false,
    controller = new AbortController(),
  ): Promise<Told> =>
    call(
      words,
      flags,
      { cwd: path, env: cleanEnv({ HOME: path, ...now }), clock, signal: () => controller.signal },
      (text) => stop(text) && controller.abort('SIGTERM'),
    );
  return {
    path,
    called,
    run: (pipeline: string, options: Flags, stop?: Stop) => called(['run', pipeline], options, stop),
    /** Interrupts the run as soon as `met` answers true. */
    async runUntil(pipeline: string, options: Flags, met: () => boolean): Promise<Told> {
      const controller = new AbortController();
      const looking = setInterval(() => met() && controller.abort('SIGTERM'), 20);
      const told = await called(['run', pipeline], options, undefined, controller);
      clearInterval(looking);
      return told;
    },
    fork: (run: string, options: Flags, stop?: Stop) => called(['fork', run], options, stop),
    resume: (run: string, options: Flags = {}, stop?: Stop) => called(['resume', run], options, stop),
    verb: (words: readonly string[], options: Flags = {}) => called(words, options),
    runs: (options: Flags = {}) => called(['runs'], options),
    show: (run: string, options: Flags = {}) => called(['show', run], options),
    replay: (run: string, options: Flags = {}, stop?: Stop) => called(['replay', run], options, stop),
    exported: (run: string, output?: string) => called(['record', 'export', run], { output }),
    checkout: (run: string, dir: string, options: Flags = {}) => called(['checkout', run, dir], options),
    /** Sets the environment of later commands. */
    environment(vars: Readonly<Record<string, string>>): void {
      now = vars;
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
