/** `factory keep --install`: a file by which the system starts the worker. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { quoteWord } from '../core/policy/words.ts';
import { launchdService, type Service, serviceMark, systemdService } from '../keeper/install.ts';
import type { KeepSettings } from '../keeper/keep.ts';
import { readPlain } from '../platform/files/read.ts';
import { makeFolder, systemWords, writeFileAtomic } from '../platform/files/write.ts';
import { packageRoot } from '../platform/package.ts';
import { usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import type { VerbResult } from './verb.ts';

/** Writes the file, lets systemd check it where it is, and says how to start it. `words`: the flags of the worker. */
export async function installWorker(
  settings: KeepSettings,
  words: readonly string[],
  io: CliIo,
): Promise<VerbResult> {
  const { HOME: home = '', PATH = '/usr/local/bin:/usr/bin:/bin', FACTORY_KEYS } = io.env;
  if (home === '') return usage('--install: HOME is not set', 'run it as the user of the worker');
  if (settings.db !== undefined && words.some((word) => word.startsWith('--db')))
    return usage(
      '--install: the URL of --db may have a password, and this file is for all to read',
      'set FACTORY_DB',
    );
  if (settings.notify !== undefined && /^https?:\/\/\S*[?@]/.test(settings.notify))
    return usage(
      '--install: the URL of --notify looks like one with a secret',
      'name a command that reads it from a file',
    );
  const request = {
    ...{ ...settings, cwd: io.cwd, home },
    variables: { PATH, ...(FACTORY_KEYS === undefined ? {} : { FACTORY_KEYS }) },
    argv: [process.execPath, join(packageRoot(), 'dist/cli.js'), 'keep', ...words],
  };
  const service = process.platform === 'darwin' ? launchdService(request) : systemdService(request);
  const is = readPlain(service.path);
  if (is.kind !== 'missing' && !(is.kind === 'text' && is.text.includes(serviceMark)))
    return usage(`--install: ${service.path} is there, and was not written by factory`, 'move it away');
  try {
    makeFolder(dirname(service.path));
    // The target of notices may have a secret in its path.
    await writeFileAtomic(service.path, service.text, { mode: 0o600 });
  } catch (error) {
    return usage(`--install: ${service.path} cannot be written: ${systemWords(error)}`, 'check the folder');
  }
  const checked = process.platform === 'darwin' ? '' : await verified(service, io);
  if (checked !== '')
    return usage(
      `--install: systemd refuses ${service.path}: ${checked}`,
      'report this: it is an error of factory',
    );
  for (const line of linesOf(service)) io.out(`${line}\n`);
  return 0;
}

/** What systemd has against the unit; empty where it is good, or where there is no systemd. */
async function verified({ path }: Service, { spawn, cwd, env }: CliIo): Promise<string> {
  const program = (env['PATH'] ?? '')
    .split(':')
    .map((folder) => join(folder, 'systemd-analyze'))
    .find(existsSync);
  if (program === undefined) return '';
  const given = Object.entries(env).filter((one): one is [string, string] => one[1] !== undefined);
  const exit = await spawn.run({
    argv: [program, '--user', 'verify', path],
    // It looks for units of the session there, and fails without a session.
    ...{ cwd, env: { XDG_RUNTIME_DIR: dirname(path), ...Object.fromEntries(given) }, timeoutMs: 30_000 },
    ...{ stdoutFile: '/dev/null', stderrFile: '/dev/null' },
  });
  return exit.kind === 'exited' && exit.code !== 0 ? `run ${program} --user verify ${quoteWord(path)}` : '';
}

const linesOf = ({ path, start, stop, secrets }: Service): readonly string[] => [
  `wrote ${path}`,
  `keys of models and other secrets: ${secrets} (NAME=VALUE a line; chmod 600), not this file`,
  'start it:',
  ...start.map((line) => `  ${line}`),
  'stop it (it drains):',
  `  ${stop}`,
];
