/** Summarises why an attempt failed, for the prompt of the next attempt. */
import * as z from 'zod';
import { type Ending, endings, type FailureStage, reminderOf } from './stage.ts';
import type { FailureBrief } from './state.ts';
import { spoken } from './unittest.ts';

/** Characters of each stream: the head shows what was run, the tail what went wrong. */
const limits = { head: 600, tail: 1400 } as const;

/** Head and tail of a text, with a note of how many characters are left out between them. */
export function excerpt(
  text: string,
  most: { readonly head: number; readonly tail: number } = limits,
): string {
  const characters = [...text];
  const left = characters.length - most.head - most.tail;
  if (left <= 0) return text;
  const head = characters.slice(0, most.head).join('');
  const tail = characters.slice(-most.tail).join('');
  return `${head}\n[... ${left} characters left out ...]\n${tail}`;
}

/** The brief of a failure that a `factory order` tool found. */
export const briefOf = (stage: FailureStage, reason: string, ending?: Ending): FailureBrief => ({
  stage,
  command: null,
  exit_code: null,
  excerpt: excerpt(reason),
  reminder: ending === undefined ? reminderOf(stage) : endings[ending],
});

const Results = z.object({
  commands: z.array(
    z.object({ command: z.string(), exit_code: z.number(), stdout: z.string(), stderr: z.string() }),
  ),
});

/** The brief of a failed verification node: its reason, and the last command in `verification.results.json` if that one
 *  failed, or the refused command, which has no exit code (a missing file fails without a command). */
export function briefOfChecks(
  stage: FailureStage,
  reason: string,
  {
    results,
    ending,
    refused,
  }: {
    readonly results: unknown;
    readonly ending?: Ending | undefined;
    readonly refused?: string | undefined;
  },
): FailureBrief {
  if (refused !== undefined) return { ...briefOf(stage, reason, ending), command: spoken(refused) };
  const parsed = Results.safeParse(results);
  const last = parsed.success ? parsed.data.commands.at(-1) : undefined;
  if (last === undefined || last.exit_code === 0) return briefOf(stage, reason, ending);
  const streams = (
    [
      ['stderr', last.stderr],
      ['stdout', last.stdout],
    ] as const
  )
    .filter(([, text]) => text.trim() !== '')
    .map(([name, text]) => `[${name}]\n${excerpt(text.trimEnd())}`);
  return {
    stage,
    command: spoken(last.command),
    exit_code: last.exit_code,
    excerpt: [excerpt(reason), ...streams].join('\n'),
    reminder: briefOf(stage, reason, ending).reminder,
  };
}
