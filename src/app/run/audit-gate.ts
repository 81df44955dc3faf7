/** The audit before a run is recorded as completed. */
import type { Graph } from '../../core/graph.ts';
import { auditWords } from '../../core/records/audit.ts';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { writeJson } from '../../platform/files/write.ts';
import { storedGraph } from '../read-pipeline.ts';
import type { Host } from '../types.ts';

/** The audit by the graph attribute `audit`; its default is `report` in a run with a holdout or work orders, else `off`: then
 *  undefined. The
 *  report is written to `audit.json`. With `strict`, an error among the findings, or an audit that is impossible, fails the
 *  run: the returned function resolves to the reason. */
export function auditOf(
  graph: Graph,
  runDir: string,
  manifest: Pick<Manifest, 'holdout' | 'git'>,
  host: Pick<Host, 'env' | 'log'>,
): (() => Promise<string | undefined>) | undefined {
  const mode =
    graph.settings.audit ?? (manifest.holdout === undefined && manifest.git === undefined ? 'off' : 'report');
  if (mode === 'off') return undefined;
  return async () => {
    const { auditRun } = await import('../../verify/audit/audit.ts');
    const audited = await auditRun(runDir, host.env, storedGraph).catch((error: unknown) => {
      if (error instanceof WorkspaceError) return { why: error.message };
      throw error;
    });
    if ('why' in audited) {
      host.log('warn', 'the run could not be audited', { why: audited.why });
      return mode === 'strict' ? `audit: ${audited.why}` : undefined;
    }
    const { report } = audited;
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
  };
}
