/** Whether a scenario in Python or JavaScript, or in bash that sources the product, reached its own end, and with which exit code: a product that it imports could end the
 *  process with exit code 0 before any check has failed, or change the exit code of one that has. */
import { open, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { OwnEndPlaces } from '../platform/embedded/own-end.ts';
import ownEndText from '../platform/embedded/own-end.ts?program';
import type { Phase, ScenarioVerdict } from './classify.ts';
import { programWith } from './launch/files.ts';
import { bashRunner, isWatchedInBash } from './own-end-bash.ts';
import type { ScriptFile } from './starts.ts';

/** Variable with the file that marks the end; removed from the environment before the script's first line. */
const variable = 'SCENARIO_OWN_END';

export type OwnEnd = {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
};

/** The argv of a script, changed so that it writes its exit code into the file `mark` at its own end, and `replaced` if the functions
 *  that set it are not the interpreter's; undefined for other languages and interpreters.
 *  `tools`: folder for the program that does so. */
export async function withOwnEnd(
  argv: readonly [string, ...string[]],
  script: string,
  where: { readonly tools: string; readonly folder: string; readonly app: string; readonly mark: string },
  files: readonly ScriptFile[],
): Promise<OwnEnd | undefined> {
  if (argv[0] === 'bash') return isWatchedInBash(files) ? inBash(argv, script, where) : undefined;
  const language = /\.py$/i.test(script) ? 'python' : /\.[cm]?js$/i.test(script) ? 'node' : undefined;
  if (language === undefined) return undefined;
  const at = argv.indexOf(script);
  const before = at > 0 ? argv.slice(0, at) : await shebangOf(script);
  const program = before.findLast((word) => !word.startsWith('-')) ?? '';
  const isKnown = language === 'node' ? /^node(?:js)?$/ : /^python[\d.]*$/;
  if (!isKnown.test(basename(program))) return undefined;
  const { tools, folder, app, mark } = where;
  const helper = join(tools, language === 'node' ? 'own-end.cjs' : 'own-end.py');
  const places: OwnEndPlaces = { folder, app, variable };
  await writeFile(helper, language === 'node' ? programWith(places, ownEndText) : pythonRunner(folder, app));
  const [first = program, ...rest] = [
    ...before,
    ...(language === 'node' ? ['--require', helper] : [helper]),
    script,
    ...argv.slice(at + 1),
  ];
  return { argv: [first, ...rest], env: { [variable]: mark } };
}

async function inBash(
  argv: readonly [string, ...string[]],
  script: string,
  { tools, mark, ...places }: Parameters<typeof withOwnEnd>[2],
): Promise<OwnEnd> {
  const helper = join(tools, 'own-end.bash');
  await writeFile(helper, bashRunner(variable, { ...places, script, helper }));
  const at = argv.indexOf(script);
  return { argv: ['bash', helper, ...argv.slice(at + 1)], env: { [variable]: mark } };
}

/** Why a script whose process ended with exit code 0 has not passed, by what its `mark` says: it says nothing where the script did not
 *  reach its own end. */
export function problemOfEnd(
  mark: string | undefined,
  phase: Phase,
  files: readonly ScriptFile[],
): ScenarioVerdict | undefined {
  const [code, replaced] = mark?.split(' ') ?? [];
  if (code === '0' && replaced === undefined) return undefined;
  const early = mark === undefined;
  if (phase !== 'live')
    return {
      class: 'scenario',
      why: early ? 'the script ended before its own end' : `the script ended itself with exit code ${code}`,
    };
  if (files.some(({ text }) => /\bos\._exit\b|\breallyExit\b/.test(text))) {
    const seen = early
      ? 'was not seen to reach its own end'
      : `ended itself with exit code ${code}, then with 0`;
    return { class: 'scenario', why: `the script ${seen}: it calls os._exit or the like; use sys.exit` };
  }
  const why = early
    ? 'ended the scenario before its own end'
    : replaced === undefined
      ? `changed the exit code of the scenario from ${code} to 0`
      : 'replaced the functions by which the scenario sets its exit code';
  return { class: 'product', why: `the product ${why}` };
}

/** The words of a script's first line, without `env`. */
async function shebangOf(script: string): Promise<readonly string[]> {
  const file = await open(script, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0);
    const line = /^#!(.*)\n/.exec(buffer.toString('utf8', 0, bytesRead))?.[1] ?? '';
    const words = line.trim().split(/\s+/);
    if (basename(words[0] ?? '') !== 'env') return words;
    return words.slice(words[1] === '-S' ? 2 : 1);
  } finally {
    await file.close();
  }
}

/** The program that runs a script of Python as its main module. Tracebacks look as without it. */
const pythonRunner = (folder: string, app: string): string => `import builtins, os, sys, types
_mark = os.environ.pop(${JSON.stringify(variable)}, None)
_folder, _app = ${JSON.stringify(folder)} + os.sep, ${JSON.stringify(app)} + os.sep


def _is_own(traceback):
    own = False
    while traceback is not None:
        name = os.path.join(${JSON.stringify(app)}, traceback.tb_frame.f_code.co_filename)
        if name.startswith(_folder):
            own = True
        elif name.startswith(_app):
            own = False
        traceback = traceback.tb_next
    return own


_ends = lambda: (sys.exit, os._exit, *(getattr(builtins, name, None) for name in ("exit", "quit", "SystemExit")))
_before, _sys = _ends(), sys


def _is_replaced(names):
    def is_other(is_now, was):
        code = getattr(is_now, "__code__", None)
        own = code is not None and code.co_filename.startswith(_folder)
        return is_now is not was and not own and not type(is_now).__module__.startswith("unittest.mock")

    return names.get("sys", _sys) is not _sys or any(map(is_other, _ends(), _before))


def _leave(code, note="", open=open, mark=_mark):
    if mark is not None:
        with open(mark, "w") as file:
            file.write(str(code) + note)


def _run(leave, is_own, is_replaced):
    sys.argv = sys.argv[1:]
    script = sys.argv[0]
    if sys.path and not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        sys.path[0] = os.path.dirname(script)
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__, __spec__=None, __cached__=None)
    sys.modules["__main__"] = main
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec", dont_inherit=True)
    try:
        exec(code, main.__dict__)
        leave(0, " replaced" if is_replaced(main.__dict__) else "")
    except SystemExit as end:
        if is_own(end.__traceback__.tb_next):
            leave(0 if end.code is None else end.code & 255 if isinstance(end.code, int) else 1)
        raise
    except BaseException as error:
        traceback = error.__traceback__.tb_next
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


_run(_leave, _is_own, _is_replaced)
`;
