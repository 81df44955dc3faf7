/** `factory intake github OWNER/REPO`: issues with a label become runs in the queue. */
import { countedItems } from '../core/amounts.ts';
import { type IntakeReport, type IntakeRow, intakeIssues } from '../keeper/intake.ts';
import { realSend } from '../platform/http.ts';
import type { CliIo } from './io.ts';
import { withQueue } from './open-queue.ts';
import { openView } from './report/live.ts';
import { type SubmitOptions, submitRequestOf } from './submit.ts';
import type { VerbResult } from './verb.ts';

export type IntakeOptions = Omit<SubmitOptions, 'key' | 'inOrder'> & {
  readonly label?: string;
  readonly pipeline?: string;
};

export async function intakeCommand(repo: string, options: IntakeOptions, io: CliIo): Promise<VerbResult> {
  const { label = 'factory', pipeline, ...submit } = options;
  const request = { repo, label, pipeline, submit: submitRequestOf([], submit) };
  const view = await openView(options, io);
  const ended = await withQueue(options, io, (queue, runsDir) =>
    intakeIssues(queue, request, { ...io, runsDir, send: realSend, signal: io.signal() }),
  );
  if ('problems' in ended) return ended;
  const { report, stopped } = ended;
  for (const warning of report.warnings) view.log('warn', warning);
  if (options.json === true) io.out(`${JSON.stringify(report, null, 2)}\n`);
  else
    io.out(
      intakeLines(report, { quiet: options.quiet === true, isPartial: stopped !== undefined })
        .map((line) => `${line}\n`)
        .join(''),
    );
  return stopped ?? 0;
}

function intakeLines(
  { repo, label, issues, busy }: IntakeReport,
  { quiet, isPartial }: { readonly quiet: boolean; readonly isPartial: boolean },
): readonly string[] {
  const fresh = issues.filter(({ what }) => what === 'submitted');
  if (quiet) return fresh.map(({ run_id }) => run_id);
  if (busy !== null) return [`${repo}: nothing done: ${busy}`];
  const known = issues.filter(({ what }) => what === 'known').length;
  return [
    ...issues.filter(({ what }) => what !== 'known').map((row) => lineOf(repo, row)),
    `${repo}: ${isPartial ? 'looked at ' : ''}${countedItems(issues.length, 'open issue')} with the label "${label}": ${fresh.length} queued, ${known} known`,
  ];
}

const lineOf = (repo: string, { number, what, run_id, why }: IntakeRow): string =>
  what === 'submitted'
    ? `queued: ${run_id}  ${repo}#${number}`
    : `${what === 'waits' ? 'waits for a person' : 'not taken'}: ${repo}#${number} ${why}`;
