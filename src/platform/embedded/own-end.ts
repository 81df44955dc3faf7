/** Marks that a script reached its own end, and with which exit code: Node loads it before the script. A call of `process.exit` is the
 *  scenario's end if the innermost of its callers in the scenario or the product is the scenario. */
import fs from 'node:fs';
import modules from 'node:module';
import url from 'node:url';
import util from 'node:util';

export type OwnEndPlaces = { readonly folder: string; readonly app: string; readonly variable: string };

/** Defined before the program's text: see `programWith`. */
declare const places: OwnEndPlaces;

const { folder, app, variable: name } = places;
const mark = process.env[name];
delete process.env[name];
// Programs that the script starts inherit this file, but not the variable.
if (mark !== undefined) watch(mark);

function watch(mark: string): void {
  const write = fs.writeFileSync;
  const leave = (code: unknown, note = '') => {
    try {
      write(mark, `${Number(code ?? process.exitCode ?? 0) & 255}${note}`);
    } catch {
      // Then the end is not seen.
    }
  };
  const isIn = (place: string, file: string) => file.startsWith(`${place}/`);
  /** Whether the innermost of these files of the scenario or the product is the scenario's. */
  const isOwn = (files: readonly string[]): boolean => {
    const first = files.find((file) => isIn(folder, file) || isIn(app, file));
    return first !== undefined && isIn(folder, first);
  };
  const callers = (): readonly string[] => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    Error.stackTraceLimit = Number.POSITIVE_INFINITY;
    Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName() ?? '');
    const files = new Error().stack as unknown as readonly string[];
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
    return files.map((file) => (file.startsWith('file:') ? url.fileURLToPath(file) : file));
  };
  const { exit, emit } = process;
  const ownExit = ((...args: [number?]) => {
    if (isOwn(callers())) leave(args[0]);
    return exit.apply(process, args);
  }) as typeof process.exit;
  let now: unknown = ownExit;
  let isReplacedByOwn = false;
  Object.defineProperty(process, 'exit', {
    get: () => now,
    set: (other: unknown) => {
      isReplacedByOwn = isOwn(callers());
      now = other;
    },
    enumerable: true,
    configurable: true,
  });
  // A mock of `node:test` is a proxy.
  const isReplaced = () => process.exit !== ownExit && !isReplacedByOwn && !util.types.isProxy(process.exit);
  const thrownIn = (error: unknown): readonly string[] =>
    error instanceof Error && typeof error.stack === 'string'
      ? error.stack.split('\n').flatMap((line) => /^ {4}at .*?(?:file:\/\/)?(\/.*)/.exec(line)?.[1] ?? [])
      : [];
  let hasThrown = false;
  // Not listeners: others could be placed before them.
  process.emit = ((event: string, ...args: unknown[]) => {
    if (event === 'beforeExit') leave(hasThrown ? 1 : undefined, isReplaced() ? ' replaced' : '');
    const isHandled = Reflect.apply(emit, process, [event, ...args]) as boolean;
    // An error of the scenario that a listener of the product takes would not end the process.
    if (isHandled && ['uncaughtException', 'unhandledRejection'].includes(event))
      hasThrown ||= isOwn(thrownIn(args[0]));
    return isHandled;
  }) as typeof process.emit;
  modules.syncBuiltinESMExports();
}
