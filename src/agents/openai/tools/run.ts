/** The tool `run`: a program in the workspace, without a shell. */
import * as z from 'zod';
import type { Exit } from '../../../core/contracts/process.ts';
import { homeAndTmpOf } from '../../../core/contracts/sandbox.ts';
import { once } from '../../../core/once.ts';
import { commandProblem } from '../../../core/policy/commands.ts';
import { readShell } from '../../../core/policy/shell.ts';
import { splitWords } from '../../../core/policy/words.ts';
import { headAndTail } from '../../../platform/process/outputs.ts';
import { defineTool, did, refusedCall, type ToolResult } from './tool.ts';

/** Bytes of either stream that the model gets; all of it is in the node's folder. */
const mostShown = 16 * 1024;

export const runTool = once(() =>
  defineTool({
    name: 'run',
    description:
      'Runs a program in the workspace and answers with its exit code and what it printed. No shell: the command is split into ' +
      'words, and pipes, redirections, globs and variables mean nothing in it. Programs are named as on PATH, files relative ' +
      'to the workspace. Whatever it leaves running is ended with it.',
    args: z.object({
      command: z.string().describe('a command line, such as: npm test'),
      timeout_seconds: z.number().positive().max(86_400).nullish(),
    }),
    action: ({ command }) => ({ action: 'command', detail: command.trim() }),
    async run({ command, timeout_seconds }, { task, root, scope, runMs, call }) {
      const words = wordsOf(command);
      if ('problem' in words) return refusedCall(words.problem);
      const sandbox = await task.sandbox?.();
      const problem = commandProblem(command, homeAndTmpOf(sandbox?.rung ?? 'group'));
      if (problem !== undefined) return refusedCall(`the command is ${problem}`);
      const { hidden, only } = scope;
      const [out, err] = [collector(), collector()];
      const number = String(call).padStart(3, '0');
      const exit = await task.run({
        argv: words.argv,
        cwd: root,
        keys: [],
        home: [],
        network: task.settings.network === 'on',
        unread: { hidden, ...(only === undefined ? {} : { only }) },
        stdoutName: `openai.run_${number}.stdout.log`,
        stderrName: `openai.run_${number}.stderr.log`,
        onStdout: out.push,
        onStderr: err.push,
        timeoutMs: timeout_seconds == null ? runMs : Math.min(runMs, Math.ceil(timeout_seconds * 1000)),
      });
      return resultOf(exit, words.argv[0], `${out.section('stdout')}${err.section('stderr')}`);
    },
  }),
);

function wordsOf(
  command: string,
): { readonly argv: readonly [string, ...string[]] } | { readonly problem: string } {
  const [syntax] = readShell(command).operators;
  if (syntax !== undefined)
    return {
      problem: `it runs without a shell, so ${syntax} outside quotes means nothing: run one program after the other`,
    };
  const split = splitWords(command);
  if ('problem' in split) return { problem: `${split.problem} (at character ${split.at + 1})` };
  const [program, ...rest] = split.words;
  if (program === undefined || program === '') return { problem: 'the program has no name' };
  if (command.includes('\0')) return { problem: 'the command has a NUL in it' };
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
      return refusedCall(`ended after ${exit.afterMs / 1000} s, it took too long${printed}`);
    case 'cancelled':
      return refusedCall('cancelled');
    case 'not_found':
      return refusedCall(`"${program}" cannot be run: ${exit.why}`);
  }
}
