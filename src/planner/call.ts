/** What a command asks an interpreter or a tool to do, read from its words. What is not understood is left out: a
 *  finding must never come from a misread option. */
import type { JavaScriptKind } from './javascript.ts';

export type Call =
  | { readonly do: 'javascript'; readonly text: string; readonly kind: JavaScriptKind }
  | { readonly do: 'python'; readonly text: string }
  /** `stops`: it ends at the first command that fails, as its options say. */
  | { readonly do: 'shell'; readonly text: string; readonly shell: string; readonly stops: boolean }
  /** `by`: the program that reads it; of Node's, a name without its extension will do. */
  | { readonly do: 'file'; readonly path: string; readonly by: string }
  | { readonly do: 'go'; readonly folder: string; readonly verb: string }
  | { readonly do: 'go init' }
  | { readonly do: 'cargo'; readonly manifest: string | undefined; readonly verb: string }
  | { readonly do: 'cargo init' }
  | { readonly do: 'npx'; readonly tool: string; readonly packages: readonly string[] };

/** `program` without folders, `args` what follows it. */
export function readCall(program: string, args: readonly string[]): readonly Call[] {
  if (program === 'node' || program === 'nodejs') return node(args);
  if (['sh', 'bash', 'dash', 'ash'].includes(program)) return shell(program, args);
  if (/^(?:python|pypy)[\d.]*$/.test(program)) return python(program, args);
  if (program === 'go') return go(args);
  if (program === 'cargo') return cargo(args);
  if (program === 'npx') return npx(args);
  return [];
}

const nodeValues = new Set(
  `-r --require --import -C --conditions --loader --experimental-loader --input-type --env-file --test-reporter
  --test-reporter-destination --test-name-pattern --test-skip-pattern --test-concurrency --test-timeout --test-shard
  --title --stack-trace-limit --max-http-header-size --watch-path --unhandled-rejections`.split(/\s+/),
);
/** Options without a value, beyond those that begin as `nodeFlag` says. */
const nodeFlags = new Set(
  `-c --check -i --interactive --test --test-only --test-force-exit --watch --watch-preserve-output --expose-gc
  --enable-source-maps --preserve-symlinks --preserve-symlinks-main --throw-deprecation --pending-deprecation
  --abort-on-uncaught-exception --use-strict --strict --frozen-intrinsics --permission`.split(/\s+/),
);
const nodeFlag = /^--(?:no|experimental|trace|harmony|disable|allow)-/;

function node(args: readonly string[]): Call[] {
  let kind: JavaScriptKind = 'either';
  let text: string | undefined;
  let isTest = false;
  let prints = false;
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] ?? '';
    if (!word.startsWith('-') || word === '-') break;
    const [name = '', value] = split(word);
    const isPrint = /^(?:-p|-pe|--print)$/.test(name);
    if (isPrint) prints = true;
    if (isPrint || name === '-e' || name === '--eval') {
      // `-p -e text`: the text is that of the later option.
      if (isPrint && name !== '-pe' && value === undefined && (args[at + 1] ?? '-').startsWith('-')) continue;
      text = value ?? args[++at];
    } else if (name === '--input-type') {
      const type = value ?? args[++at];
      if (type !== 'module' && type !== 'commonjs') return [];
      kind = type;
    } else if (name === '--test') isTest = true;
    else if (name === '--') {
      at++;
      break;
    } else if (nodeValues.has(name)) at += value === undefined ? 1 : 0;
    else if (value === undefined && !nodeFlags.has(name) && !nodeFlag.test(name)) return [];
  }
  // What is printed is the value of a script; a module has none.
  if (text !== undefined) return [{ do: 'javascript', text, kind: prints ? 'commonjs' : kind }];
  const operands = args.slice(at);
  const files = isTest ? operands : operands.slice(operands[0] === 'inspect' ? 1 : 0).slice(0, 1);
  return files
    .filter((path) => path !== '-' && !/[*?{}[\]]/.test(path))
    .map((path) => ({ do: 'file', path, by: 'node' }));
}

function shell(program: string, args: readonly string[]): Call[] {
  let isText = false;
  let stops = false;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    if (word === '-s') return [];
    if (word === '--rcfile' || word === '--init-file') at++;
    else if (word === '--' || word === '-') continue;
    else if (/^[-+]./.test(word)) {
      if (!word.startsWith('--') && word.startsWith('-') && word.includes('c')) isText = true;
      if (/^-\w*e/.test(word) || (/^-\w*o$/.test(word) && args[at + 1] === 'errexit')) stops = true;
      if (/^[-+]\w*[oO]$/.test(word)) at++;
    } else if (isText) return [{ do: 'shell', text: word, shell: program, stops }];
    else return [{ do: 'file', path: word, by: program }];
  }
  return [];
}

function python(program: string, args: readonly string[]): Call[] {
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    const text = args[at + 1];
    if (/^-[A-Za-z]*c$/.test(word)) return text === undefined ? [] : [{ do: 'python', text }];
    // `-cprogram` and `-mmodule`: the rest is not for us.
    if (/^-[A-Za-z]*[cm]/.test(word) || word === '-') return [];
    if (word === '-W' || word === '-X') at++;
    else if (!word.startsWith('-')) return [{ do: 'file', path: word, by: program }];
  }
  return [];
}

const goVerbs = new Set(['run', 'test', 'build', 'vet']);
const goValues = new Set(
  `C asan asmflags bench benchtime blockprofile blockprofilerate buildmode compiler count covermode coverpkg
  coverprofile cpu cpuprofile exec fuzz fuzzminimizetime fuzztime gccgoflags gcflags installsuffix ldflags list
  memprofile memprofilerate mod mutexprofile o outputdir overlay p parallel pgo pkgdir run shuffle skip tags
  timeout toolexec vettool`.split(/\s+/),
);

function go(args: readonly string[]): Call[] {
  let folder = '.';
  let verb: string | undefined;
  let operand: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    const [name = '', value] = split(word.replace(/^--?/, ''));
    if (!word.startsWith('-')) {
      if (verb !== undefined) {
        operand = word;
        break;
      }
      if ((word === 'mod' || word === 'work') && args[at + 1] === 'init') return [{ do: 'go init' }];
      if (!goVerbs.has(word)) return [];
      verb = word;
    } else if (name === 'modfile') return [];
    else if (goValues.has(name)) {
      const given = value ?? args[++at];
      if (name === 'C') folder = given ?? '.';
    }
  }
  if (verb === undefined) return [];
  if (operand?.endsWith('.go')) return [{ do: 'file', path: `${folder}/${operand}`, by: 'go' }];
  // A package that is named by its path needs no module here: it may be the library's own.
  if (operand === undefined ? verb === 'run' : !operand.startsWith('.')) return [];
  return [{ do: 'go', folder, verb }];
}

const cargoVerbs = new Set(
  'b bench build c check clean clippy d doc fetch fix fmt metadata nextest r run rustc t test tree update'.split(
    ' ',
  ),
);

function cargo(args: readonly string[]): Call[] {
  let verb: string | undefined;
  let manifest: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    const [name = '', value] = split(word);
    if (word === '--') break;
    // Its own change of folder, which only nightly versions know.
    if (name === '-C') return [];
    if (name === '--manifest-path') manifest = value ?? args[++at];
    else if (/^(?:--color|--config|-Z)$/.test(name)) at += value === undefined ? 1 : 0;
    else if (!word.startsWith('-') && !word.startsWith('+')) verb ??= word;
    else if (verb === undefined && /^(?:-V|--version|-h|--help|--list|--explain)$/.test(name)) return [];
  }
  if (verb === 'init' || verb === 'new') return [{ do: 'cargo init' }];
  return verb !== undefined && cargoVerbs.has(verb) ? [{ do: 'cargo', manifest, verb }] : [];
}

function npx(args: readonly string[]): Call[] {
  const packages: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    const [name = '', value] = split(word);
    if (name === '-p' || name === '--package') packages.push(value ?? args[++at] ?? '');
    else if (name === '-c' || name === '--call')
      return packages.map((tool) => ({ do: 'npx', tool, packages }));
    else if (!word.startsWith('-')) return [{ do: 'npx', tool: word, packages }];
  }
  return [];
}

/** `--name=value` in its two parts. */
function split(word: string): [string, string | undefined] {
  const at = word.startsWith('-') || /^[\w-]+=/.test(word) ? word.indexOf('=') : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
