/** Opens a file with the desktop's program for it. */
import { spawn } from 'node:child_process';

const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['explorer'],
};

/** Starts the program and leaves it running; undefined if it started, else why not. `file` is absolute. */
export function openFile(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const [program, ...words] = openers[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(program, [...words, file], { detached: true, stdio: 'ignore', env });
    child.once('error', (error) => resolve(`${program} does not start (${error.message})`));
    child.once('spawn', () => {
      child.unref();
      resolve(undefined);
    });
  });
}
