/** Finding an agent's program, and why it cannot be run. */
import { constants, type Stats } from 'node:fs';
import { access, open, realpath, stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import { isMissing } from '../../platform/files/write.ts';

export type Executable = { readonly path: string } | { readonly problem: string };

/** The program of a path (absolute) or, without a slash, of a name on PATH. `what` is the program in messages, `install`
 *  what to do where there is none of that name. */
export async function findExecutable(
  what: string,
  program: { readonly configured: string; readonly path: string },
  searchPath: string | undefined,
  install: string,
): Promise<Executable> {
  const { configured, path } = program;
  if (path.includes('/')) {
    const problem = await whyNot(path);
    return problem === undefined
      ? { path }
      : {
          problem: `configured ${what} executable ${problem.replace('%', `${path} (configured as ${configured})`)}`,
        };
  }
  let barred: string | undefined;
  for (const folder of (searchPath ?? '').split(delimiter)) {
    // The program starts in another folder than the one that a relative entry is meant from.
    const candidate = resolve(folder, path);
    const problem = await whyNot(candidate);
    if (problem === undefined) return { path: candidate };
    if (!problem.startsWith('not found')) barred ??= candidate;
  }
  return {
    problem:
      barred === undefined
        ? `${what} executable not found: no directory of PATH has "${path}" (${install})`
        : `${what} executable is not executable: ${barred} (chmod +x), and no other directory of PATH has one`,
  };
}

/** `%` is a placeholder for the path. */
async function whyNot(path: string): Promise<string | undefined> {
  let is: Stats;
  try {
    is = await stat(path);
  } catch (error) {
    return isMissing(error) ? 'not found: %' : 'not found, or out of reach for this user: %';
  }
  if (is.isDirectory()) return 'is a directory: %';
  if (!is.isFile()) return 'is no file: %';
  const may = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  // To root everything is accessible; what no x bit allows cannot be started all the same.
  return may && (is.mode & 0o111) !== 0 ? undefined : 'is not executable: %';
}

/** True for a program of the npm package `name` and for a native one; false for any other script. */
export async function isNativeOrOf(name: string, path: string): Promise<boolean> {
  try {
    if ((await realpath(path)).includes(`/node_modules/${name}/`)) return true;
    const file = await open(path, 'r');
    try {
      const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
      // ELF, Mach-O (either order of bytes, 64 bits) and Mach-O for several machines.
      return ['7f454c46', 'cffaedfe', 'feedfacf', 'cafebabe'].includes(buffer.toString('hex'));
    } finally {
      await file.close();
    }
  } catch {
    return false;
  }
}
