/** Makes the request of `factory plan SPEC` from its flags, or says why it cannot be carried out. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readInputText } from '../app/input-text.ts';
import { modelFor } from '../app/model-servers.ts';
import { mainFileOf } from '../app/spec-folder.ts';
import type { Bounds } from '../app/types.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { sha256 } from '../core/sha256.ts';
import { artifactsRoot, exportConflict, exportProblem } from '../planner/artifacts.ts';
import { compileHash } from '../planner/emit.ts';
import type { PlanRequest } from '../planner/evidence.ts';
import { readUserText, type TextProblem, type UserText } from '../planner/files.ts';
import { bundled, hasPlaceholder, readDoctrine, withDoctrine } from '../planner/prompt.ts';
import { ownCommit } from '../platform/own-commit.ts';
import { checkDirs } from '../workspace/roots.ts';
import type { RunHost } from './flags.ts';
import { compileDefaults } from './options.ts';
import type { ViewOptions } from './report/live.ts';

/** Options as typed. */
export type CompileOptions = ViewOptions &
  Omit<Bounds, 'wait' | 'now'> & {
    readonly spec?: string;
    readonly outdir?: string;
    readonly template?: string;
    readonly artifactsDir?: string;
    readonly repo?: string;
    readonly overwrite?: boolean;
    readonly printSummary?: boolean;
    readonly model?: string;
    readonly effort?: string;
    readonly strict?: boolean;
    readonly maxAttempts?: string;
    readonly agent?: string;
    readonly agent_script?: string;
    readonly provider?: string;
    readonly runsdir?: string;
    readonly runId?: string;
    readonly json?: boolean;
  };

const mostAttempts = 100;
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];
/** Exit code: a file or directory is missing or in the way. */
export const refusedByFiles = 1;
export const usageWrong = 2;

export const refusedPlan = (exit: number, problem: string): Refusal =>
  refused('plan', problem, undefined, exit);

/** Reads everything that the report needs. */
export async function requestOf(
  specPath: string,
  options: CompileOptions,
  io: RunHost,
): Promise<{ readonly request: PlanRequest; readonly template: string } | Refusal> {
  const attempts = attemptLimit(options);
  if (typeof attempts === 'object') return attempts;
  const effort = options.effort?.trim() || compileDefaults.effort;
  if (!efforts.includes(effort))
    return refusedPlan(usageWrong, `--effort ${effort} is unknown: ${efforts.join(', ')}`);
  const templatePath = options.template ?? bundled('plan.md');
  for (const [what, path] of [
    ['template', templatePath],
    ['spec', specPath],
  ] as const) {
    const is = await stat(resolve(io.cwd, path)).catch(() => undefined);
    if (is?.isFIFO() === true)
      return refusedPlan(
        refusedByFiles,
        `the ${what} ${path} is a pipe, which can be read only once: save it as a file`,
      );
  }
  const template = await readUserText(io, templatePath, 'template');
  const doctrine = await readDoctrine(io);
  if ('problem' in doctrine) throw new Error(`Internal: ${doctrine.problem}`);
  if ('problem' in template)
    return refusedPlan(template.wrong === 'file' ? refusedByFiles : usageWrong, template.problem);
  const spec = await readSpec(io, specPath);
  if ('problem' in spec)
    return refusedPlan(spec.wrong === 'file' ? refusedByFiles : usageWrong, spec.problem);
  const at = options.artifactsDir || io.env['ARTIFACTS_DIR'] || 'artifacts';
  const artifacts = await artifactsRoot(resolve(io.cwd, at));
  if ('problem' in artifacts) return refusedPlan(refusedByFiles, artifacts.problem);
  const workdir = options.repo === undefined ? io.cwd : resolve(io.cwd, options.repo);
  const model = modelFor(options, compileDefaults.model, { workdir, env: io.env }) ?? '';
  const request: PlanRequest = {
    schema_version: 1,
    artifacts: artifacts.root,
    outdir: options.outdir === undefined ? null : resolve(io.cwd, options.outdir),
    overwrite: options.overwrite === true,
    spec: { path: resolve(io.cwd, specPath), sha256: sha256(spec.bytes) },
    template: { path: resolve(io.cwd, templatePath), sha256: sha256(template.bytes) },
    repo: options.repo === undefined ? null : resolve(io.cwd, options.repo),
    model,
    effort,
    max_attempts: attempts,
    compile_hash: compileHash({
      spec: spec.bytes,
      template: withDoctrine(template, doctrine.text),
      model,
      effort,
    }),
    started_at: io.clock.now().toISOString(),
    version: await ownCommit(io.env),
  };
  return { request, template: template.text };
}

/** The text of which a run makes the plan: a folder may be one specification. */
async function readSpec(io: RunHost, path: string): Promise<UserText | TextProblem> {
  const folder = resolve(io.cwd, path);
  const isFolder = (await stat(folder).catch(() => undefined))?.isDirectory() === true;
  if (!isFolder || mainFileOf(folder) === undefined) return readUserText(io, path, 'spec');
  const read = await readInputText(folder, 'the spec');
  return 'problem' in read
    ? { wrong: 'text', problem: read.problem }
    : { text: read.text, bytes: Buffer.from(read.text) };
}

/** The limit of answers that are checked. */
function attemptLimit({ maxAttempts }: CompileOptions): number | Refusal {
  const attempts = Number(maxAttempts ?? compileDefaults.attempts);
  return Number.isSafeInteger(attempts) && attempts >= 1 && attempts <= mostAttempts
    ? attempts
    : refusedPlan(
        usageWrong,
        `--max-attempts ${maxAttempts} is not a whole number from 1 to ${mostAttempts}`,
      );
}

/** Problems that are found before a model is paid. */
export async function problemBefore(
  request: PlanRequest,
  template: string,
  options: CompileOptions,
  runsdir: string,
): Promise<Refusal | undefined> {
  if (!hasPlaceholder(template, 'PRODUCT_SPEC')) {
    const name = options.template ?? request.template.path;
    return refusedPlan(
      usageWrong,
      `the template ${name} has no {{PRODUCT_SPEC}}: put it where the spec belongs`,
    );
  }
  if (request.outdir !== null) {
    const conflict = request.overwrite ? undefined : await exportConflict(request.outdir);
    const problem = conflict ?? (await exportProblem(request.outdir));
    if (problem !== undefined) return refusedPlan(refusedByFiles, problem.problem);
  }
  if (request.repo !== null) {
    const dirs = checkDirs({ workdir: request.repo, runsdir });
    if (dirs !== undefined)
      return refusedPlan(refusedByFiles, `--repo: ${dirs.message.replace('the workdir ', '')}`);
  }
  return undefined;
}
