/** The tool `run`: a program in the workspace, without a shell. */
import * as z from 'zod';
import { toolCommandProblem } from '../../../policy/commands.ts';
import { quoteWord, splitWords } from '../../../policy/words.ts';
import { headAndTail } from '../../../system/head-and-tail.ts';
import type { Exit } from '../../../system/spawn.ts';
import { did, refused, type ToolResult, tool } from './tool.ts';

/** Bytes of either stream that the model gets; all of it is in the node's folder. */
const mostShown = 16 * 1024;

/** What only a shell understands. It is looked for in quotes too: "argv" takes it literally. */
const shellSyntax = ['&&', '||', ';', '|', '`', '$(', '>', '<', '\n'];

export const run = tool({
  name: 'run',
  description:
    'Runs a program in the workspace and answers with its exit code and what it printed. No shell: "command" is split into ' +
    'words, and pipes, redirections, globs and variables mean nothing in it. "argv" gives the words themselves. Programs ' +
    'are named as on PATH, files relative to the workspace. Whatever it leaves running is ended with it.',
  args: z.object({
    command: z.string().nullish().describe('a command line, such as: npm test'),
    argv: z.array(z.string()).nullish().describe('the program and its arguments, in place of "command"'),
    timeout_seconds: z.number().positive().max(86_400).nullish(),
  }),
  action: ({ command, argv }) => ({
    action: 'command',
    detail: command?.trim() || (argv ?? []).map(quoteWord).join(' '),
  }),
  async run({ command, argv, timeout_seconds }, { task, root, scope, runMs, call }) {
    const words = wordsOf(command?.trim() ?? '', argv ?? []);
    if ('problem' in words) return refused(words.problem);
    const rule = toolCommandProblem(words.argv.map(quoteWord).join(' '));
    if (rule !== undefined) return refused(rule.replace(/^tool_command rejected/, 'the command is rejected'));
    const { hidden, only } = scope;
    const [out, err] = [collector(), collector()];
    const number = String(call).padStart(3, '0');
    const exit = await task.run({
      argv: words.argv,
      cwd: root,
      keys: [],
      home: [],
      network: task.attributes['network']?.trim() === 'on',
      unread: { hidden, ...(only === undefined ? {} : { only }) },
      stdoutName: `openai.run_${number}.stdout.log`,
      stderrName: `openai.run_${number}.stderr.log`,
      onStdout: out.push,
      onStderr: err.push,
      timeoutMs: timeout_seconds == null ? runMs : Math.min(runMs, Math.ceil(timeout_seconds * 1000)),
    });
    return resultOf(exit, words.argv[0], `${out.section('stdout')}${err.section('stderr')}`);
  },
});

function wordsOf(
  line: string,
  argv: readonly string[],
): { readonly argv: readonly [string, ...string[]] } | { readonly problem: string } {
  if ((line === '') === (argv.length === 0))
    return { problem: 'give either "command" or "argv", and one of them' };
  const syntax = shellSyntax.find((piece) => line.includes(piece));
  if (syntax !== undefined)
    return {
      problem:
        `it runs without a shell, so ${JSON.stringify(syntax)} cannot be used in "command": run one program after ` +
        'the other, or give the words in "argv"',
    };
  const split = line === '' ? { words: argv } : splitWords(line);
  if ('problem' in split) return { problem: `${split.problem} (at character ${split.at + 1})` };
  const [program, ...rest] = split.words;
  if (program === undefined || program === '') return { problem: 'the program has no name' };
  if (split.words.some((word) => word.includes('\0'))) return { problem: 'a word has a NUL in it' };
  return { argv: [program, ...rest] };
}

/** Head and tail of a stream, for the model. */
function collector() {
  const kept = headAndTail(mostShown);
  const pieces: Buffer[] = [];
  let bytes = 0;
  return {
    push(text: string): void {
      const chunk = Buffer.from(text);
      bytes += chunk.length;
      pieces.push(kept.push(chunk));
    },
    section(name: string): string {
      const text = Buffer.concat([...pieces, kept.end()]).toString('utf8');
      return text === '' ? `\n${name}: nothing` : `\n${name} (${bytes} bytes):\n${text.replace(/\n$/, '')}`;
    },
  };
}

function resultOf(exit: Exit, program: string, printed: string): ToolResult {
  switch (exit.kind) {
    case 'exited':
      // A program that fails is an answer too: the call was carried out.
      return did(`exit code ${exit.code}${printed}`);
    case 'signalled':
      return did(`ended by ${exit.signal}${printed}`);
    case 'timed_out':
      return refused(`ended after ${exit.afterMs / 1000} s, it took too long${printed}`);
    case 'cancelled':
      return refused('cancelled');
    case 'not_found':
      return refused(`"${program}" cannot be run: ${exit.why}`);
  }
}
