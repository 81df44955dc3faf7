/** The audit before a run is recorded as completed. */
import { auditWords } from '../../core/records/audit.ts';
import { layout } from '../../core/records/layout.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { writeJson } from '../../platform/files/write.ts';
import { storedGraph } from '../read-pipeline.ts';
import type { Host } from '../types.ts';
import type { LoadedRun } from './own-run.ts';

/** The audit by the graph attribute `audit`; its default is `report` in a run with a holdout or work orders, else `off`: then
 *  undefined. The report is written to `audit.json`. With `strict`, an error among the findings, or an audit that is
 *  impossible, fails the run: the function resolves to the reason. */
export async function auditOfRun({ runDir, task, manifest, host }: LoadedRun) {
  const mode =
    task.terms.graph.settings.audit ??
    (manifest.holdout === undefined && manifest.git === undefined ? 'off' : 'report');
  return { value: { audit: mode === 'off' ? undefined : () => audited(runDir, mode, host) } };
}

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
  if (mode !== 'strict') return undefined;
  if (report.holdout === 'unreadable')
    return `audit: could not search for leaks: ${report.holdout_problem ?? ''}`;
  if (errors === 0 || first === undefined) return undefined;
  return `audit: ${auditWords({ errors, warnings, findings: report.findings.length })}; first ${first.where}${first.line === null ? '' : `:${first.line}`}: ${first.message}`;
}
