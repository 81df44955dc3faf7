/** `factory audit`: checks a run for holdout leaks and for changes of tests and of what runs them. */

import { acceptedWeaknessIn } from '../app/accept-weak.ts';
import { storedGraph } from '../app/read-pipeline.ts';
import { countedItems } from '../core/amounts.ts';
import { refused } from '../core/diagnostic.ts';
import { unreachable } from '../core/json.ts';
import { acceptanceWords, type WeaknessAccepted } from '../core/records/acceptance.ts';
import { type AuditFinding, type AuditReport, auditWords } from '../core/records/audit.ts';
import { WorkspaceError } from '../platform/files/workspace-error.ts';
import { auditRun } from '../verify/audit/audit.ts';
import { findNamed } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { foreign, oneLine, type Paint, painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type AuditOptions = { readonly runsdir?: string; readonly json?: boolean; readonly color?: boolean };

/** Answers 0 for a run without errors, 1 for one with, or whose sealed files could not be read. Nothing is changed. */
export async function auditCommand(run: string, options: AuditOptions, io: CliIo): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const audited = await audit(found.dir, io);
  if ('why' in audited) return refused('run-files', audited.why);
  const { report } = audited;
  const accepted = acceptedWeaknessIn(found.dir);
  const acceptance = accepted === undefined ? {} : { accepted_weakness: accepted };
  if (options.json === true) io.out(`${JSON.stringify({ ...report, ...acceptance }, null, 2)}\n`);
  else io.out(auditText(report, accepted, painter(paints(io, io.outIsTerminal, options.color))));
  return report.errors > 0 || report.holdout === 'unreadable' ? 1 : 0;
}

async function audit(runDir: string, { env }: CliIo): ReturnType<typeof auditRun> {
  try {
    return await auditRun(runDir, env, storedGraph);
  } catch (error) {
    if (error instanceof WorkspaceError) return { why: error.message };
    throw error;
  }
}

/** The findings, worst first, and what was looked at. */
function auditText(report: AuditReport, accepted: WeaknessAccepted | undefined, paint: Paint): string {
  const blocks = report.findings.map((finding) => findingText(finding, paint));
  const { visits, texts, files, commits, canaries } = report.looked_at;
  const last = [
    ...report.notes.map((note) => paint.yellow(`not looked at: ${note}`)),
    ...holdoutText(report, paint),
    ...(accepted === undefined ? [] : [paint.yellow(`accepted: ${acceptanceWords(accepted)}`)]),
    `looked at ${[
      countedItems(visits, 'visit'),
      countedItems(texts, 'text'),
      countedItems(files, 'file'),
      countedItems(commits, 'commit'),
    ].join(
      ', ',
    )}${report.holdout === 'checked' ? ` for ${countedItems(canaries, 'canary', 'canaries')} of sealed files` : ''}`,
    `${report.errors > 0 ? paint.red('✗') : report.holdout === 'unreadable' ? paint.yellow('■') : paint.green('✓')} audit of ${report.run_id}: ${auditWords({ ...report, findings: report.findings.length })}`,
  ];
  return `${[...blocks, last.join('\n')].join('\n\n')}\n`;
}

function holdoutText({ holdout, holdout_problem }: AuditReport, paint: Paint): string[] {
  switch (holdout) {
    case 'checked':
      return [];
    case 'none':
      return ['this run has no holdout: only changes of tests and of what runs them were looked for'];
    case 'unreadable':
      return [paint.red(`leaks could not be looked for: ${holdout_problem ?? ''}`)];
    default:
      return unreachable(holdout);
  }
}

function findingText(finding: AuditFinding, paint: Paint): string {
  const { code, severity, sure, node, visit, where, line, message, fix, before, after, sealed } = finding;
  const head = `${severity}[${code}]`;
  const who = node === null ? '' : `${node}${visit === null ? '' : `@${visit}`}: `;
  const rows = [
    `${severity === 'error' ? paint.red(head) : paint.yellow(head)}: ${who}${foreign(message, '    ')} (${sure})`,
    ` --> ${oneLine(where, 300)}${line === null ? '' : `:${line}`}`,
  ];
  if (sealed !== undefined) rows.push(`  = sealed: file ${sealed.file}, line ${sealed.line}`);
  rows.push(...difference('-', before).map(paint.dim), ...difference('+', after).map(paint.dim));
  rows.push(`  = fix: ${fix}`);
  return rows.join('\n');
}

/** Lines of a difference that are printed; `--json` has more. */
const mostLines = 20;

function difference(sign: string, text = ''): string[] {
  const lines = text.split('\n').filter((line) => line !== '');
  const more = lines.length - mostLines;
  return [
    ...lines.slice(0, mostLines).map((line) => `  ${sign} ${oneLine(line, 160)}`),
    ...(more > 0 ? [`  ${sign} (${more} more lines)`] : []),
  ];
}
