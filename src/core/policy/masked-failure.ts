/** Commands whose failure a shell hides: the status of a pipe and of a list is that of the last command. */
import { invocation, programTexts } from './programs.ts';
import { readShell, type ShellCommand } from './shell.ts';
import { type ListNode, type ListStatement, readLists } from './shell-lists.ts';

/** What a shell does about failures before the end of a list (`-e`) and of a pipe (`pipefail`). */
export type ShellOptions = { readonly e: boolean; readonly pipefail: boolean };

export type Masked = {
  /** The command as written. */
  readonly command: string;
  readonly by: 'pipe' | 'list' | 'loop';
  /** The program whose status counts instead; empty if unknown. */
  readonly last: string;
};

/** The first command that matters and whose failure the shell hides; undefined if there is none. Where the text looks at
 *  statuses itself (`$?`, `||`), its author has decided. */
export function maskedCommand(text: string, options: ShellOptions): Masked | undefined {
  if (/\$\?|\$\{\?|PIPESTATUS|pipestatus/.test(text)) return undefined;
  return new Search({ ...options }).inList(readLists(text), true);
}

/** Words after which the options of a shell are known: `bash -eo pipefail`. */
export function shellOptions(words: readonly string[]): ShellOptions {
  const options = { e: false, pipefail: false };
  setOptions(words.slice(1), options);
  return options;
}

function setOptions(words: readonly string[], options: { e: boolean; pipefail: boolean }): void {
  for (const [at, word] of words.entries()) {
    const name = /^[-+][a-z]*o$/.test(words[at - 1] ?? '') ? word : '';
    const on = name === '' ? word.startsWith('-') : words[at - 1]?.startsWith('-') === true;
    if (name === 'pipefail') options.pipefail = on;
    if (name === 'errexit' || /^[-+][a-z]*e/.test(word)) options.e = on;
  }
}

class Search {
  constructor(private readonly options: { e: boolean; pipefail: boolean }) {}

  /** `decides`: the status of the list is looked at. */
  inList(list: readonly ListStatement[], decides: boolean): Masked | undefined {
    for (const [at, statement] of list.entries()) {
      const next = list[at + 1];
      const found = this.inStatement(statement, decides, next);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  private inStatement(
    { pipelines, operators, end }: ListStatement,
    decides: boolean,
    next: ListStatement | undefined,
  ): Masked | undefined {
    // What runs in the background is waited for, or not, on purpose.
    if (end === '&') return undefined;
    const isSeen = operators.includes('||') || this.options.e || (decides && next === undefined);
    for (const nodes of pipelines) {
      const hidden = this.options.pipefail ? undefined : inPipe(nodes);
      if (hidden !== undefined) return hidden;
      for (const node of nodes) {
        const found = this.inNode(node, isSeen);
        if (found !== undefined) return found;
      }
      const last = nodes.at(-1);
      if (isSeen || last?.is !== 'command' || !matters(last.command)) continue;
      const by = next === undefined ? 'loop' : 'list';
      return { command: rawOf(last.command), by, last: next === undefined ? '' : lastProgram(next) };
    }
    return undefined;
  }

  private inNode(node: ListNode, isSeen: boolean): Masked | undefined {
    switch (node.is) {
      case 'command': {
        const words = node.command.words.map(({ text }) => text);
        if (words[0] === 'set') setOptions(words.slice(1), this.options);
        return isSeen ? inText(words) : undefined;
      }
      case 'group':
      case 'subshell':
        return this.inList(node.body, isSeen);
      case 'loop':
        // Only the last round counts.
        return this.inList(node.body, this.options.e);
      case 'if':
        for (const body of node.bodies) {
          const found = this.inList(body, isSeen);
          if (found !== undefined) return found;
        }
        return undefined;
      default:
        return undefined;
    }
  }
}

/** In the text that a command hands to another shell: `sh -c "npm test; echo done"`. */
function inText(words: readonly string[]): Masked | undefined {
  const [found] = programTexts(words).filter(({ language }) => language === 'shell');
  if (found === undefined) return undefined;
  return maskedCommand(found.text, shellOptions(words.slice(0, found.at)));
}

function inPipe(nodes: readonly ListNode[]): Masked | undefined {
  const last = nodes.at(-1);
  const lastCommand = last?.is === 'command' ? last.command : undefined;
  for (const node of nodes.slice(0, -1)) {
    const command = node.is === 'command' ? node.command : lastOf(node);
    if (command === undefined || !matters(command)) continue;
    // A command that judges the output of another one decides, unless the other one is a check.
    if (lastCommand !== undefined && judgesOutput(lastCommand) && !isCheck(command)) continue;
    const by = lastCommand === undefined ? '' : programOf(lastCommand);
    return { command: rawOf(command), by: 'pipe', last: by };
  }
  return undefined;
}

/** The command that gives a group its status. */
function lastOf(node: ListNode): ShellCommand | undefined {
  const last =
    node.is === 'group' || node.is === 'subshell' ? node.body.at(-1)?.pipelines.at(-1)?.at(-1) : undefined;
  return last === undefined ? undefined : last.is === 'command' ? last.command : lastOf(last);
}

const lastProgram = ({ pipelines }: ListStatement): string => {
  const node = pipelines.at(-1)?.at(-1);
  return node?.is === 'command' ? programOf(node.command) : '';
};

const textsOf = ({ words }: ShellCommand): readonly string[] => words.map(({ text }) => text);
const programOf = (command: ShellCommand): string => invocation(textsOf(command)).program;
const rawOf = ({ words }: ShellCommand): string => words.map(({ raw }) => raw).join(' ');

/** Programs that only print, look something up, prepare files or steer the shell. */
const preparing: ReadonlySet<string> = new Set(
  `: . alias awk base64 basename bg break cat cd chgrp chmod chown clear column comm command continue cp cut date dd declare df
  dirname du echo env eval exec exit export expand fg file find fold free getopts git grep egrep fgrep gunzip gzip hash
  head hostname id install join jobs jq kill less link ln local locale ls md5sum mkdir mkfifo mktemp more mv nl nproc od paste
  pgrep pkill popd printenv printf ps pushd pwd read readarray readlink readonly realpath return rev rg rm rmdir sed seq set
  sha1sum sha256sum shift shopt shuf sleep sort source split stat stty sync tac tail tar tee time times touch tput tr trap true
  truncate tsort tty type typeset ulimit umask unalias uname uniq unlink unset unzip uptime wait wc wget whereis which who
  whoami xargs xxd yes zcat zip curl`.split(/\s+/),
);

/** First arguments with which package managers and build tools only prepare. */
const preparingVerbs =
  /^(?:ci|i|install|add|sync|restore|fetch|download|clone|pull|update|upgrade|init|clean|config|list|ls|version|--version|-v|-V|--help|help)$/;

/** Whether a failure of the command means something: it builds, checks, or is an unknown program. */
function matters(command: ShellCommand): boolean {
  const words = textsOf(command);
  const { at, program } = invocation(words);
  if (words.includes('!')) return false;
  if (program === '') return command.words.some(({ raw }) => substitutes(raw));
  const [first = '', second = ''] = words.slice(at + 1);
  if (program === 'grep' && words.some((word) => /^-[a-zA-Z]*q|^--quiet$/.test(word))) return true;
  if (preparing.has(program)) return false;
  // `pip install`, `python3 -m venv x`, `python3 -m pip install x`.
  const verb = first === '-m' ? second : first;
  return !preparingVerbs.test(verb) && !/^(?:venv|pip|ensurepip)$/.test(verb);
}

/** A value from a command that matters: `out=$(npm test)`. */
function substitutes(raw: string): boolean {
  const inner = /^\w+\+?="?(?:\$\(|`)([\s\S]*?)[)`]?"?$/.exec(raw)?.[1];
  return inner !== undefined && readShell(inner).commands.some(matters);
}

/** A command that judges the output of the one before it. */
function judgesOutput(command: ShellCommand): boolean {
  const words = textsOf(command);
  const { program } = invocation(words);
  if (/^(?:e|f|z)?grep$|^rg$/.test(program)) return !words.some((word) => /^-[a-zA-Z]*v/.test(word));
  return (
    /^(?:cmp|diff|test|\[)$/.test(program) || (program === 'jq' && words.some((word) => /^-\w*e/.test(word)))
  );
}

/** Whether all commands of a text check, print or prepare: they write no file. */
export function onlyChecks(text: string): boolean {
  const { commands } = readShell(text);
  return commands.every(
    (command) =>
      command.targets.length === 0 &&
      (isCheck(command) || !matters(command) || programOf(command) === 'false'),
  );
}

const checkWord =
  /(?:^|[^a-z])(?:py|vi|un?it)?(?:check|checks|test|tests|verify|validate|accept|acceptance|lint|smoke|e2e|spec|jest|mocha|ava|tap|rspec|tsc|mypy|ruff|eslint)(?=$|[^a-z])/i;
const isCheck = (command: ShellCommand): boolean => textsOf(command).some((word) => checkWord.test(word));
