/** Which program a command starts in the end: behind `env`, `npx`, `uv run`, `python -m` and the like. */
import { basename } from 'node:path/posix';
import { invocation } from './programs.ts';

export type StartedProgram = {
  /** Its index among the words; their number when there is none. */
  readonly at: number;
  /** Its name without folders and version; of a Python module its name. */
  readonly program: string;
};

/** Programs that start the program that their first operand names. */
const starters =
  /^(?:npx|bunx|pnpx|c8|nyc|cross-env|cross-env-shell|xvfb-run|chronic|(?:uv|poetry|pipenv|pdm|rye|hatch|coverage) run|(?:npm|pnpm|yarn) (?:exec|x|dlx)|bun x|bundle exec)$/;
/** Interpreters, and the paths of programs that a package manager has installed for them. */
const interpreters = /^(?:node|nodejs|php|ruby)$/;
const installed = /^(?:\.\/)?(?:node_modules|vendor)\/(?:[\w@.-]+\/)*[\w-]+(?:\.[cm]?js)?$/;
const python = /^(?:python|pypy)[\d.]*$/;

export function startedProgram(words: readonly string[]): StartedProgram {
  let { at } = invocation(words);
  for (;;) {
    const program = basename(words[at] ?? '');
    const next = python.test(program) || program === 'run' ? moduleAt(words, at) : startedAt(words, at);
    if (next === undefined)
      return {
        at,
        program: program.replace(/^(python|pypy)[\d.]+$/, '$1').replace(/^([\w-]+)\.[cm]?js$/, '$1'),
      };
    at = next;
  }
}

/** The index of the module after `python -m`. */
function moduleAt(words: readonly string[], at: number): number | undefined {
  for (let i = at + 1; i < words.length; i++) {
    const word = words[i] ?? '';
    if (/^-[A-Za-z]*m$/.test(word)) return i + 1;
    if (/^-[WX]$/.test(word)) i++;
    else if (!word.startsWith('-')) return undefined;
  }
  return undefined;
}

function startedAt(words: readonly string[], at: number): number | undefined {
  const name = basename(words[at] ?? '');
  const operand = (from: number): number | undefined => {
    const found = words.findIndex((word, i) => i >= from && !/^-|^\w+=/.test(word));
    return found < 0 ? undefined : found;
  };
  const first = operand(at + 1);
  if (first === undefined) return undefined;
  if (starters.test(name) || (interpreters.test(name) && installed.test(words[first] ?? ''))) return first;
  if (!starters.test(`${name} ${words[first]}`)) return undefined;
  return moduleAt(words, first) ?? operand(first + 1);
}
