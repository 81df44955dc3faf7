/** `factory why`: why a run failed or waits, with evidence and the next command. */
import type { FailureCard } from '../app/inspect/failure-card.ts';
import type { InspectHost } from '../app/inspect/rows.ts';
import { inspectWhy } from '../app/inspect/why.ts';
import { findNamed, runsDirOf } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { sheetOf } from './report/fit.ts';
import { causeText } from './report/inspect.ts';
import { answerCommands } from './report/question.ts';
import { painter } from './report/run.ts';
import type { ShowOptions } from './show.ts';
import type { VerbResult } from './verb.ts';

/** The exit code does not depend on the run. */
export async function whyCommand(
  run: string | undefined,
  options: ShowOptions,
  io: CliIo,
): Promise<VerbResult> {
  const found = await findNamed(run ?? 'latest', options, io);
  if ('problems' in found) {
    const { showQueued } = await import('./queued.ts');
    return (await showQueued(found, runsDirOf(options, io), options, io)) ?? found;
  }
  const why = await inspectWhy(found.dir, io);
  if ('problems' in why) return why;
  if (options.json === true) io.out(`${JSON.stringify(why, null, 2)}\n`);
  else {
    const paint = painter(paints(io, io.outIsTerminal, options.color));
    const sheet = sheetOf(io);
    const answers = why.questions.flatMap((question) => answerCommands(question, paint, sheet));
    io.out(`${[causeText(why, why.status, paint, sheet), ...answers].join('\n')}\n`);
  }
  return 0;
}

/** The card of a run that needs attention; null for any other, and for one that cannot be read. */
export async function failureCardIn(runDir: string, host: InspectHost): Promise<FailureCard | null> {
  const why = await inspectWhy(runDir, host);
  return 'problems' in why ? null : why.card;
}
