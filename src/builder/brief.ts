/** Summarises why an attempt failed, for the prompt of the next attempt. */

import * as z from 'zod';
import { once } from '../model/once.ts';
import { failureExcerpt } from '../policy/failure-excerpt.ts';
import { type Ending, endings, type FailureStage, reminderOf } from './stage.ts';
import type { FailureBrief } from './state.ts';
import { spoken } from './unittest.ts';

/** The brief of a failure that a `factory order` tool found. */
export const briefOf = (stage: FailureStage, reason: string, ending?: Ending): FailureBrief => ({
  stage,
  command: null,
  exit_code: null,
  excerpt: failureExcerpt(reason),
  reminder: ending === undefined ? reminderOf(stage) : endings[ending],
});

/** What a command printed; undefined where that is not kept. */
export type Printed = { readonly stdout: string | undefined; readonly stderr: string | undefined };

const resultsSchema = once(() =>
  z.object({
    commands: z.array(
      z.object({ command: z.string(), exit_code: z.number(), stdout: z.string(), stderr: z.string() }),
    ),
  }),
);

/** The brief of a failed verification node: its reason, and the last command in `verification.results.json` if that one
 *  failed, or the refused command, which has no exit code (a missing file fails without a command). `printed`: the whole
 *  output of that command, of which the results quote the end; `node`: where it is kept. */
export function briefOfChecks(
  stage: FailureStage,
  reason: string,
  {
    results,
    printed,
    node,
    ending,
    refused,
  }: {
    readonly results: unknown;
    readonly printed?: Printed | undefined;
    readonly node?: string;
    readonly ending?: Ending | undefined;
    readonly refused?: string | undefined;
  },
): FailureBrief {
  if (refused !== undefined) return { ...briefOf(stage, reason, ending), command: spoken(refused) };
  const parsed = resultsSchema().safeParse(results);
  const last = parsed.success ? parsed.data.commands.at(-1) : undefined;
  if (last === undefined || last.exit_code === 0) return briefOf(stage, reason, ending);
  const nth = (parsed.data?.commands.length ?? 1) - 1;
  const streams = (['stderr', 'stdout'] as const)
    .map((name) => {
      const whole = node === undefined ? {} : { whole: `${node}/verification.${nth}.${name}.txt` };
      return [name, failureExcerpt(printed?.[name] ?? last[name], whole)] as const;
    })
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `[${name}]\n${text}`);
  return {
    stage,
    command: spoken(last.command),
    exit_code: last.exit_code,
    excerpt: [failureExcerpt(reason), ...streams].join('\n'),
    reminder: briefOf(stage, reason, ending).reminder,
  };
}
