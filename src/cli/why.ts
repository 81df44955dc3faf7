/** `factory why`: why a run failed or waits, with evidence and the next command. */
import { inspectWhy } from '../app/inspect/why.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { findNamed } from './find-run.ts';
import { type Io, paints } from './io.ts';
import { causeText } from './report/inspect.ts';
import { answerCommands } from './report/question.ts';
import { painter } from './report/run.ts';
import type { ShowOptions } from './show.ts';
import type { VerbResult } from './verb.ts';

/** The exit code does not depend on the run. */
export async function whyCommand(
  run: string | undefined,
  options: ShowOptions,
  io: Io & { readonly clock: Clock },
): Promise<VerbResult> {
  const found = await findNamed(run ?? 'latest', options, io);
  if ('problems' in found) return found;
  const why = await inspectWhy(found.dir, io);
  if ('problems' in why) return why;
  if (options.json === true) io.out(`${JSON.stringify(why, null, 2)}\n`);
  else {
    const paint = painter(paints(io, io.outIsTerminal, options.color));
    io.out(
      `${[causeText(why, why.status, paint), ...why.questions.flatMap((question) => answerCommands(question, paint))].join('\n')}\n`,
    );
  }
  return 0;
}
