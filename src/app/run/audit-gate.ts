/** The audit before a run is recorded as completed. */
import type { Graph } from '../../core/graph.ts';
import { type AuditReport, auditWords } from '../../core/records/audit.ts';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { writeJson } from '../../platform/files/write.ts';
import { storedGraph } from '../read-pipeline.ts';
import type { Host } from '../types.ts';
import type { LoadedRun } from './own-run.ts';

/** The audit by the graph attribute `audit`; its default is `report` in a run with a holdout or work orders, else `off`: then
 *  undefined. The report is written to `audit.json`. With `strict`, an error among the findings, or an audit that is
 *  impossible, fails the run: the function resolves to the reason. */
export async function auditOfRun({ runDir, task, manifest, host }: LoadedRun) {
  const mode = auditMode(task.terms.graph, manifest);
  return { value: { audit: mode === 'off' ? undefined : () => audited(runDir, mode, host) } };
}

export const auditMode = (graph: Graph, { holdout, git }: Pick<Manifest, 'holdout' | 'git'>) =>
  graph.settings.audit ?? (holdout === undefined && git === undefined ? 'off' : 'report');

async function audited(runDir: string, mode: 'report' | 'strict', host: Host): Promise<string | undefined> {
  const { auditRun } = await import('../../verify/audit/audit.ts');
  const answer = await auditRun(runDir, host.env, storedGraph).catch((error: unknown) => {
    if (error instanceof WorkspaceError) return { why: error.message };
    throw error;
  });
  if ('why' in answer) {
    host.log('warn', 'the run could not be audited', { why: answer.why });
    return mode === 'strict' ? `audit: ${answer.why}` : undefined;
  }
  const { report } = answer;
  await writeJson(layout(runDir).audit, report, { sync: true, syncFolder: true });
  const [first] = report.findings;
  const { errors, warnings } = report;
  if (first !== undefined)
    host.log('warn', 'the audit has findings', {
      errors,
      warnings,
      first: `${first.where}: ${first.message}`,
    });
  return mode === 'strict' ? auditRejection(report) : undefined;
}

/** Why a strict audit fails the run; undefined if it does not. */
export function auditRejection(report: AuditReport): string | undefined {
  const { errors, warnings } = report;
  const [first] = report.findings;
  if (report.holdout === 'unreadable')
    return `audit: could not search for leaks: ${report.holdout_problem ?? ''}`;
  if (errors === 0 || first === undefined) return undefined;
  return `audit: ${auditWords({ errors, warnings, findings: report.findings.length })}; first ${first.where}${first.line === null ? '' : `:${first.line}`}: ${first.message}`;
}
