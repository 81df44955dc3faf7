/** Marks that a script reached its own end. */

/** The program that Node loads before the script. It is loaded from its own text: see `brokerProgram`. A call of `process.exit` is the
 *  scenario's end if the innermost of its callers in the scenario or the product is the scenario. */
export function markEnd(
  require: NodeJS.Require,
  places: { readonly folder: string; readonly app: string; readonly variable: string },
): void {
  const fs: typeof import('node:fs') = require('node:fs');
  const url: typeof import('node:url') = require('node:url');
  const modules: typeof import('node:module') = require('node:module');
  const { folder, app, variable: name } = places;
  const mark = process.env[name];
  delete process.env[name];
  // Programs that the script starts inherit this file, but not the variable.
  if (mark === undefined) return;
  const write = fs.writeFileSync;
  const leave = () => {
    try {
      write(mark, '');
    } catch {
      // Then the end is not seen.
    }
  };
  const isIn = (place: string, file: string) => file.startsWith(`${place}/`);
  const callers = (): readonly string[] => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    Error.stackTraceLimit = Number.POSITIVE_INFINITY;
    Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName() ?? '');
    const files = new Error().stack as unknown as readonly string[];
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
    return files.map((file) => (file.startsWith('file:') ? url.fileURLToPath(file) : file));
  };
  process.on('beforeExit', leave);
  const { exit } = process;
  process.exit = ((...args: [number?]) => {
    const caller = callers().find((file) => isIn(folder, file) || isIn(app, file));
    if (caller !== undefined && isIn(folder, caller)) leave();
    return exit.apply(process, args);
  }) as typeof process.exit;
  modules.syncBuiltinESMExports();
}
