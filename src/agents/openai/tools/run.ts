/** The tool `run`: a program in the workspace, without a shell. */
import * as z from 'zod';
import { toolCommandProblem } from '../../../policy/commands.ts';
import { quoteWord, splitWords } from '../../../policy/words.ts';
import { headAndTail } from '../../../system/head-and-tail.ts';
import type { Exit } from '../../../system/spawn.ts';
import { did, refused, type ToolResult, tool } from './tool.ts';

/** Bytes of either stream that the model is told; all of it is in the node's folder. */
const told = 16 * 1024;

/** What only a shell understands. It is looked for in quotes too: whoever means it literally gives "argv". */
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
  action: ({ command, argv }) => ({ action: 'command', detail: lineOf(command, argv) }),
  async run({ command, argv, timeout_seconds }, desk) {
    const words = wordsOf(command, argv);
    if ('problem' in words) return refused(words.problem);
    const [program, ...rest] = words.argv;
    const rule = toolCommandProblem(words.argv.map(quoteWord).join(' '));
    if (rule !== undefined) return refused(rule.replace(/^tool_command rejected/, 'the command is rejected'));
    const { hidden, only } = desk.scope;
    const out = collector();
    const err = collector();
    const ms = timeout_seconds == null ? desk.runMs : Math.min(desk.runMs, Math.ceil(timeout_seconds * 1000));
    const number = String(desk.call).padStart(3, '0');
    const exit = await desk.task.run({
      argv: [program, ...rest],
      cwd: desk.root,
      keys: [],
      home: [],
      network: desk.task.attributes['network']?.trim() === 'on',
      unread: { hidden, ...(only === undefined ? {} : { only }) },
      stdoutName: `openai.run_${number}.stdout.log`,
      stderrName: `openai.run_${number}.stderr.log`,
      onStdout: out.push,
      onStderr: err.push,
      timeoutMs: ms,
    });
    return outcome(exit, program, out.end(), err.end());
  },
});

function wordsOf(
  command: string | null | undefined,
  argv: readonly string[] | null | undefined,
): { readonly argv: readonly [string, ...string[]] } | { readonly problem: string } {
  const line = command?.trim() ?? '';
  const given = argv ?? [];
  if ((line === '') === (given.length === 0))
    return { problem: 'give either "command" or "argv", and one of them' };
  const syntax = shellSyntax.find((piece) => line.includes(piece));
  if (syntax !== undefined) {
    return {
      problem:
        `it runs without a shell, so ${JSON.stringify(syntax)} cannot be used in "command": run one program after ` +
        'the other, or give the words in "argv"',
    };
  }
  const split = line === '' ? { words: given } : splitWords(line);
  if ('problem' in split) return { problem: `${split.problem} (at character ${split.at + 1})` };
  const [program, ...rest] = split.words;
  if (program === undefined || program === '') return { problem: 'the program has no name' };
  if (split.words.some((word) => word.includes('\0'))) return { problem: 'a word has a NUL in it' };
  return { argv: [program, ...rest] };
}

const lineOf = (command: string | null | undefined, argv: readonly string[] | null | undefined): string =>
  command?.trim() || (argv ?? []).map(quoteWord).join(' ');

type Streamed = { readonly text: string; readonly bytes: number };

function collector(): { push(text: string): void; end(): Streamed } {
  const kept = headAndTail(told);
  const pieces: Buffer[] = [];
  let bytes = 0;
  return {
    push(text) {
      const chunk = Buffer.from(text);
      bytes += chunk.length;
      const head = kept.push(chunk);
      if (head.length > 0) pieces.push(head);
    },
    end: () => ({ text: Buffer.concat([...pieces, kept.end()]).toString('utf8'), bytes }),
  };
}

function outcome(exit: Exit, program: string, out: Streamed, err: Streamed): ToolResult {
  const printed = [section('stdout', out), section('stderr', err)].join('');
  switch (exit.kind) {
    case 'exited':
      // A program that fails is an answer too: the call was not in vain.
      return did(`exit code ${exit.code}${printed}`);
    case 'signalled':
      return did(`ended by ${exit.signal}${printed}`);
    case 'timed_out':
      return { ok: false, text: `error: ended after ${exit.afterMs / 1000} s, it took too long${printed}` };
    case 'cancelled':
      return refused('cancelled');
    case 'not_found':
      return refused(`"${program}" cannot be run: ${exit.why}`);
  }
}

const section = (name: string, { text, bytes }: Streamed): string =>
  text === '' ? `\n${name}: nothing` : `\n${name} (${bytes} bytes):\n${text.replace(/\n$/, '')}`;
