/** How a project is checked as a whole: which commands say that it still holds together after an order. */
import type { Dirent } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as z from 'zod';
import { verifyScript, type WorkOrder } from '../model/work-order.ts';
import { plannedCommandProblem } from '../policy/verification-command.ts';
import { quoteWord } from '../policy/words.ts';
import { isMissing } from '../system/files.ts';
import { spoken, unittestCommand } from './unittest.ts';

/** A verification plan as nodes read it: files that must exist, commands that must exit with 0. */
export type CheckPlan = { readonly files: readonly string[]; readonly commands: readonly string[] };

/** What the machine has. */
export interface Probe {
  /** Whether a program is on PATH. */
  has(program: string): Promise<boolean>;
  /** Whether python3 can import a module. */
  imports(module: string): Promise<boolean>;
}

/** The commands that check the workspace as it is now, the first of these that applies: an exempt order gets the compile
 *  check only; `scripts/verify.sh`; the `test` script of package.json; node's own tests; Python's tests (pytest where it
 *  can be imported, else unittest); Go's tests, or its vet where there are none; Rust's tests; the compile check. The compile check reads each of `files` with its language's own
 *  parser and leaves nothing behind; it is empty when none of them has one. */
export async function verifyCommands(
  workspace: string,
  order: { readonly verify_exempt: boolean },
  with_: { readonly files: readonly string[]; readonly probe: Probe },
): Promise<readonly string[]> {
  const { probe } = with_;
  if (order.verify_exempt) return exemptCheck(workspace, with_.files, probe);
  if (await isFile(join(workspace, verifyScript))) return [`bash ${verifyScript}`];
  if ((await hasTestScript(workspace)) && (await probe.has('npm'))) return ['npm test'];
  const files = await codeFiles(workspace);
  if (files.some(isNodeTest)) return ['node --test'];
  if (files.some(isPythonTest) && (await probe.has('python3'))) {
    // Pytest knows only two of the names, and fails where it finds none.
    const pytest = files.some(isPytestFile) && (await probe.imports('pytest'));
    return [pytest ? 'python3 -m pytest -q' : unittestCommand];
  }
  if ((await isFile(join(workspace, 'go.mod'))) && (await probe.has('go'))) {
    // Vet compiles everything too; `go build` would leave a program behind.
    return [files.some(isGoTest) ? 'go test ./...' : 'go vet ./...'];
  }
  if ((await isFile(join(workspace, 'Cargo.toml'))) && (await probe.has('cargo'))) {
    return ['cargo test --offline'];
  }
  return compileCheck(workspace, with_.files, probe);
}

/** What a programmer may be told of that before the files are written: the commands where nothing that the order may
 *  write decides about them, else the rule. Lines. */
export async function foretold(
  workspace: string,
  order: { readonly verify_exempt: boolean; readonly allowed_files: readonly string[] },
  probe: Probe,
): Promise<readonly string[]> {
  if (order.verify_exempt) return [`only whether the files you write parse`];
  const commands = await verifyCommands(workspace, order, { files: [], probe });
  const open = order.allowed_files.some(
    (path) =>
      path === verifyScript || deciders.has(path) || isNodeTest(path) || isPythonTest(path) || isGoTest(path),
  );
  const settled = commands[0] === `bash ${verifyScript}` || (commands.length > 0 && !open);
  return settled
    ? commands.map(spoken)
    : [
        `whichever of these comes first, as the project is once your files are written:`,
        `\`bash ${verifyScript}\` where that file exists`,
        'the `test` script of `package.json`',
        '`node --test` where there are JavaScript tests',
        "Python's tests where there are any: pytest if it is installed, else unittest; no test found is a failure",
        "Go's tests (`go test ./...`) beside a `go.mod`, Rust's (`cargo test`) beside a `Cargo.toml`",
        'otherwise, whether each file you write parses',
      ];
}

const deciders: ReadonlySet<string> = new Set(['package.json', 'go.mod', 'Cargo.toml']);
const isGoTest = (path: string): boolean => path.endsWith('_test.go');

/** The three plans of an order, by context key. */
export async function plansFor(
  workspace: string,
  order: WorkOrder,
  with_: { readonly files: readonly string[]; readonly probe: Probe },
): Promise<{
  readonly 'order.verify': CheckPlan;
  readonly 'order.promises': CheckPlan;
  readonly 'order.accept': CheckPlan;
}> {
  return {
    'order.verify': { files: [], commands: await verifyCommands(workspace, order, with_) },
    'order.promises': {
      files: [...new Set(order.postconditions.map((promise) => promise.path))],
      commands: [],
    },
    'order.accept': { files: [], commands: order.acceptance_commands },
  };
}

/** `npm init` writes a script that only fails; it is no test. */
async function hasTestScript(workspace: string): Promise<boolean> {
  const text = await readFile(join(workspace, 'package.json'), 'utf8').catch(() => '');
  try {
    const script = z.object({ scripts: z.object({ test: z.string() }) }).parse(JSON.parse(text)).scripts.test;
    return script.trim() !== '' && !script.includes('no test specified');
  } catch {
    return false;
  }
}

/** The names that `node --test` looks for by itself. */
function isNodeTest(path: string): boolean {
  if (!/\.[cm]?js$/.test(path)) return false;
  return /(^|\/)test\//.test(path) || /(^test|^test-.+|.+[.\-_]test)\.[cm]?js$/.test(basename(path));
}
const isPythonTest = (path: string): boolean => /^(test_.*|.*_test|tests?)\.py$/.test(basename(path));

const isPytestFile = (path: string): boolean => /^(test_.*|.*_test)\.py$/.test(basename(path));

const notOurs = new Set(['node_modules', '__pycache__', 'venv', 'vendor']);

/** JavaScript, Python and Go files, without hidden folders, what was installed, and folders whose names are no UTF-8. */
async function codeFiles(root: string, below = ''): Promise<string[]> {
  const found: string[] = [];
  const entries = await readdir(join(root, below), { withFileTypes: true }).catch(
    (error: unknown): Dirent[] => {
      if (below !== '' && isMissing(error)) return [];
      throw error;
    },
  );
  for (const entry of entries) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isFile() && /\.([cm]?js|py|go)$/.test(entry.name)) found.push(path);
    if (entry.isDirectory() && !entry.name.startsWith('.') && !notOurs.has(entry.name)) {
      found.push(...(await codeFiles(root, path)));
    }
  }
  return found;
}

/** Where no file has a parser of its own, whatever Python there is has to compile at least. */
async function exemptCheck(workspace: string, files: readonly string[], probe: Probe): Promise<string[]> {
  const commands = await compileCheck(workspace, files, probe);
  if (commands.length > 0) return commands;
  for (const python of ['python', 'python3'])
    if (await probe.has(python)) return [`${python} -m compileall -q .`];
  return [];
}

async function compileCheck(workspace: string, files: readonly string[], probe: Probe): Promise<string[]> {
  const commands: string[] = [];
  for (const file of [...files].sort()) {
    if (!(await isFile(join(workspace, file)))) continue;
    // A name that begins with a dash would be taken for an option.
    const word = quoteWord(file.startsWith('-') ? `./${file}` : file);
    if (/\.[cm]?js$/.test(file)) commands.push(`node --check ${word}`);
    else if (/\.json$/.test(file)) {
      commands.push(`node -e "JSON.parse(require('fs').readFileSync(process.argv[1], 'utf8'))" ${word}`);
    } else if (/\.(sh|bash)$/.test(file) && (await probe.has('bash'))) commands.push(`bash -n ${word}`);
    else if (/\.py$/.test(file) && (await probe.has('python3'))) {
      // Unlike py_compile this writes no cache next to the file.
      commands.push(
        `python3 -c "import ast, sys; ast.parse(open(sys.argv[1], 'rb').read(), sys.argv[1])" ${word}`,
      );
    }
  }
  // A name that no planned command may hold (one with a tilde, say) goes unchecked rather than failing the order.
  return commands.filter((command) => plannedCommandProblem(command) === undefined);
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
