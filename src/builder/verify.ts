/** Chooses the commands that verify the whole project after a work order. */
import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  hasTestScript,
  isSearchedForTests,
  type VerifyFacts,
  type VerifyPart,
  verifyPartsOf,
  verifyRules,
} from '../core/orders/verify-deciders.ts';
import { verifyScript, type WorkOrder } from '../core/orders/work-order.ts';
import { plannedCommandProblem } from '../core/policy/commands.ts';
import { quoteWord } from '../core/policy/words.ts';
import { isFile } from '../platform/files/read.ts';
import { isMissing } from '../platform/files/write.ts';
import { hasKnownSyntax } from './syntax.ts';
import { spoken, unittestCommand } from './unittest.ts';

/** What is known of the files that may be parsed: `files`, without those that notes of their orders exempt. */
export type Verifiable = {
  readonly files: readonly string[];
  readonly unparsed?: ReadonlySet<string>;
  readonly probe: Probe;
};

/** A verification plan as nodes read it: files that must exist, commands that must exit with 0. */
export type CheckPlan = { readonly files: readonly string[]; readonly commands: readonly string[] };

/** Finds out which programs the machine has. */
export interface Probe {
  /** Whether a program is on PATH. */
  has(program: string): Promise<boolean>;
  /** Whether python3 can import a module. */
  imports(module: string): Promise<boolean>;
}

/** The commands that verify the current workspace, the first of these that applies: for an exempt order the compile check
 *  alone; `scripts/verify.sh`; the `test` script of package.json; `node --test`; Python's tests (pytest if it can be
 *  imported, else unittest); Go's tests, or `go vet` if there are none; Rust's tests; the compile check. The compile check
 *  parses each of `files` with the parser of its language and writes no files; it is empty if none of them has a parser. */
export async function verifyCommands(
  workspace: string,
  order: { readonly verify_exempt: boolean },
  with_: Verifiable,
): Promise<readonly string[]> {
  const { probe } = with_;
  if (order.verify_exempt) return exemptCheck(workspace, with_);
  const { applies, parts } = await verifyFacts(workspace, probe);
  switch (applies) {
    case 'script':
      return [`bash ${verifyScript}`];
    case 'package':
      return ['npm test'];
    case 'node_test':
      return ['node --test'];
    case 'python_test': {
      const pytest = parts.has('pytest_file') && (await probe.imports('pytest'));
      return [pytest ? 'python3 -m pytest -q' : unittestCommand];
    }
    case 'go_module':
      // `go vet` compiles everything too; `go build` would leave a binary behind.
      return [parts.has('go_test') ? 'go test ./...' : 'go vet ./...'];
    case 'cargo':
      return ['cargo test --offline'];
    default:
      return compileCheck(workspace, with_);
  }
}

/** How the files of a workspace decide that it is verified. Once a rule applies, files are not searched for those of later
 *  rules. */
export async function verifyFacts(workspace: string, probe: Probe): Promise<VerifyFacts> {
  if (await isFile(join(workspace, verifyScript)))
    return { parts: new Set<VerifyPart>(['script']), applies: 'script' };
  const text = await readFile(join(workspace, 'package.json'), 'utf8').catch(() => '');
  const parts = new Set<VerifyPart>(hasTestScript(text) ? ['package'] : []);
  if (parts.has('package') && (await probe.has('npm'))) return { parts, applies: 'package' };
  const files = await codeFiles(workspace);
  for (const name of ['go.mod', 'Cargo.toml']) if (await isFile(join(workspace, name))) files.push(name);
  for (const part of files.flatMap(verifyPartsOf)) parts.add(part);
  for (const { parts: needs, program } of verifyRules) {
    if (parts.has(needs[0]) && (program === undefined || (await probe.has(program))))
      return { parts, applies: needs[0] };
  }
  return { parts, applies: undefined };
}

/** How the project is going to be verified, as lines for the prompt: the commands, or the rule by which they are chosen if
 *  files that the order may write decide it. */
export async function foretold(
  workspace: string,
  order: { readonly verify_exempt: boolean; readonly allowed_files: readonly string[] },
  probe: Probe,
  kept: readonly string[] = [],
): Promise<readonly string[]> {
  if (order.verify_exempt) return [`only whether the files you write parse`];
  const commands = await verifyCommands(workspace, order, { files: [], probe });
  const open = order.allowed_files.some((path) => verifyPartsOf(path).length > 0);
  const also = kept.filter((command) => !commands.includes(command)).map(spoken);
  const settled = commands[0] === `bash ${verifyScript}` || (commands.length > 0 && !open);
  return settled
    ? [...commands.map(spoken), ...also]
    : [
        `the first of these that applies once your files are written:`,
        `\`bash ${verifyScript}\` if that file exists`,
        'the `test` script of `package.json`',
        '`node --test` if there are JavaScript tests',
        "Python's tests if there are any: pytest if it is installed, else unittest; no test found is a failure",
        "Go's tests (`go test ./...`) if there is a `go.mod`, Rust's (`cargo test`) if there is a `Cargo.toml`",
        'otherwise, whether each file you write parses',
        ...(kept.length === 0 ? [] : [`and, as before: ${kept.map(spoken).join(', ')}`]),
      ];
}

/** The commands that verify an order: its own, then those of before (`kept`). Pytest also runs what unittest ran. */
export function withKept(own: readonly string[], kept: readonly string[]): readonly string[] {
  const covered = own.some((command) => command.startsWith('python3 -m pytest')) ? [unittestCommand] : [];
  return [...own, ...kept.filter((command) => !own.includes(command) && !covered.includes(command))];
}

/** The context key of the plan that verifies the whole project. */
export const wholePlanKey = 'order.verify';

/** The three plans of an order, by context key. `kept`: commands that verified the project before the order. */
export async function plansFor(
  workspace: string,
  order: WorkOrder,
  with_: Verifiable,
  kept: readonly string[] = [],
): Promise<{
  readonly [wholePlanKey]: CheckPlan;
  readonly 'order.promises': CheckPlan;
  readonly 'order.accept': CheckPlan;
}> {
  return {
    [wholePlanKey]: { files: [], commands: withKept(await verifyCommands(workspace, order, with_), kept) },
    'order.promises': {
      files: [...new Set(order.postconditions.map((promise) => promise.path))],
      commands: [],
    },
    'order.accept': { files: [], commands: order.acceptance_commands },
  };
}

/** JavaScript, Python and Go files, without those in hidden folders, in folders of installed packages, and in folders whose
 *  names are not UTF-8. */
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
    if (entry.isDirectory() && isSearchedForTests(entry.name)) {
      found.push(...(await codeFiles(root, path)));
    }
  }
  return found;
}

/** Without a file that has a parser, all Python files have to compile. */
async function exemptCheck(workspace: string, with_: Verifiable): Promise<string[]> {
  const commands = await compileCheck(workspace, with_);
  if (commands.length > 0) return commands;
  for (const python of ['python', 'python3'])
    if (await with_.probe.has(python)) return [`${python} -m compileall -q .`];
  return [];
}

async function compileCheck(
  workspace: string,
  { files, unparsed = new Set(), probe }: Verifiable,
): Promise<string[]> {
  const commands: string[] = [];
  for (const file of [...files].sort()) {
    if (unparsed.has(file) || !(await isFile(join(workspace, file)))) continue;
    if (!hasKnownSyntax(file, await readFile(join(workspace, file), 'utf8'))) continue;
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
