/** How a run ended, in the words of `result.json`. */
import { resolve } from 'node:path';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { Commit, RunResult } from '../model/result.ts';
import type { RunEnd } from './run.ts';

export function resultOf(
  manifest: Manifest,
  runDir: string,
  end: RunEnd,
  failedStages: number,
  cwd: string,
): RunResult {
  const { state, ending } = end;
  const commits = Commit.array().safeParse(state.context['build.commits']);
  const proof = RunResult.shape.proof.safeParse(state.context['build.proof']);
  const status = end.interrupted ? 'interrupted' : ending.ok ? 'completed' : 'failed';
  const last = ending.ok ? null : state.last_failure;
  return {
    schema_version: 1,
    run_id: manifest.run_id,
    status,
    exit_code: ending.code,
    exit_node: ending.exitNode,
    reason: ending.reason,
    failed_node: last?.node ?? null,
    failure_class: last?.class ?? null,
    agent: manifest.agent.describe,
    stages: state.steps,
    failed_stages: failedStages,
    retries: Object.values(state.retry_counts).reduce((sum, n) => sum + n, 0),
    elapsed_ms: state.elapsed_ms,
    commits: commits.success ? commits.data : [],
    proof: proof.success ? proof.data : null,
    run_dir: runDir,
    workspace: layout(runDir).workspace,
    next: nextCommand(manifest, status, ending.exitNode, runDir, cwd),
  };
}

/** What a person would type next. */
function nextCommand(
  manifest: Manifest,
  status: RunResult['status'],
  exitNode: string | null,
  runDir: string,
  cwd: string,
): string {
  const runs = resolve(runDir, '..');
  const elsewhere = runs === resolve(cwd, '.factory/runs') ? '' : ` --runsdir ${runs}`;
  if (status === 'completed') {
    if (manifest.git === undefined) return '';
    return `factory deliver ${manifest.run_id}${elsewhere}${manifest.workdir_kind === 'git' ? '' : ' --to DIR'}`;
  }
  return exitNode === null ? `factory resume ${manifest.run_id}${elsewhere}` : '';
}
