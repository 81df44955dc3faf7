/** `factory plan SPEC`: compiles a spec into work orders by the pipeline `compile.dot`, and writes a report. */
import { join } from 'node:path';
import { readPipeline } from '../app/read-pipeline.ts';
import { startRun } from '../app/run/index.ts';
import type { Finished, RunFlags } from '../app/types.ts';
import type { Refusal } from '../core/diagnostic.ts';
import type { JsonObject } from '../core/json.ts';
import { layout } from '../core/records/layout.ts';
import { recordsDirectory, recordsProblem } from '../planner/artifacts.ts';
import { type PlanRequest, planRequestFile } from '../planner/evidence.ts';
import { packageRoot } from '../platform/package.ts';
import { newRun, runsDirOf } from './find-run.ts';
import { boundsOf, hostOf, type RunHost } from './flags.ts';
import { paints } from './io.ts';
import { type FinishedCompile, finishCompile, modelFailed } from './plan-end.ts';
import {
  type CompileOptions,
  problemBefore,
  refusedByFiles,
  refusedPlan,
  requestOf,
  usageWrong,
} from './plan-request.ts';
import { openView, type View } from './report/live.ts';
import { compileReport, endingLines } from './report/plan.ts';
import { painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';

/** Compiles a spec. Exit codes: 0; 2 the last answer had errors (or text or flags are wrong); 4 it was not JSON; 3 the model
 *  could not be asked; 1 a file or directory is missing or in the way; 130 interrupted. */
export async function compileCommand(
  named: string | undefined,
  options: CompileOptions,
  io: RunHost,
): Promise<VerbResult> {
  const view = await openView(options, io);
  const runsDir = runsDirOf(options, io);
  if (named !== undefined && options.spec !== undefined && named !== options.spec)
    return refusedPlan(usageWrong, `two specs are named: ${named} and ${options.spec}`);
  const specPath = named ?? options.spec;
  if (specPath === undefined) return refusedPlan(usageWrong, 'no spec is named: factory plan SPEC');
  const asked = await requestOf(specPath, options, io);
  if ('problems' in asked) return asked;
  const place = newRun(runsDir, options.runId, io);
  if ('problems' in place) return place;
  const { runId } = place;
  const { request, template } = asked;
  const inUse = recordsProblem(recordsDirectory(request.artifacts, runId));
  if (inUse !== undefined) return refusedPlan(refusedByFiles, inUse.problem);
  const problem = await problemBefore(request, template, options, runsDir);
  if (problem !== undefined) return problem;
  const ended = await start(request, runId, runsDir, options, io, view);
  if ('problems' in ended) return { ...ended, code: ended.code ?? codeOfRefusal(ended, options) };
  const done = await finishCompile(layout(join(runsDir, runId)).root, ended, io);
  return report(done, options, io);
}

const compilePipeline = () => join(packageRoot(), 'pipelines/compile.dot');

async function start(
  request: PlanRequest,
  runId: string,
  runsDir: string,
  options: CompileOptions,
  io: RunHost,
  view: View,
): Promise<Finished | Refusal> {
  const read = await readPipeline(compilePipeline(), io.cwd);
  if (read.graph === undefined) return { problems: read.found };
  const vars = {
    spec: request.spec.path,
    plan_prompt: request.template.path,
    attempts: String(request.max_attempts),
    rules: options.strict === true ? 'strict' : 'lenient',
    plan_model: request.model,
    plan_effort: request.effort,
  };
  const flags = {
    ...flagsOf(options, vars, request.repo ?? undefined),
    // Without one the start says that the provider has none.
    ...(request.model === '' ? {} : { model: request.model }),
    effort: request.effort,
    keep: { [planRequestFile]: `${JSON.stringify(request, null, 2)}\n` },
    exclude: [request.artifacts],
  };
  return startRun(read.graph, { runsDir, runId }, flags, hostOf(io, view));
}

const flagsOf = (
  options: CompileOptions,
  vars: Readonly<Record<string, string>>,
  workdir: string | undefined,
): RunFlags => ({
  ...boundsOf(options),
  vars,
  // A plan is cheap to repeat, so it fails at once instead of being suspended.
  park_passing: false,
  allowDirty: false,
  acceptChanges: false,
  ...(workdir === undefined ? {} : { workdir }),
  ...(options.agent === undefined ? {} : { agent: options.agent }),
  ...(options.provider === undefined ? {} : { provider: options.provider }),
  ...(options.agent_script === undefined ? {} : { agent_script: options.agent_script }),
});

/** Without an agent the model could not be asked. */
function codeOfRefusal({ problems }: Refusal, options: CompileOptions): number {
  const noModel = [
    'agent-none',
    'agent-key',
    ...(options.agent_script === undefined ? ['agent-script-inputs'] : []),
  ];
  return problems.some((found) => noModel.includes(found.code)) ? modelFailed : usageWrong;
}

function report(done: FinishedCompile, options: CompileOptions, io: RunHost): number {
  if (options.json === true) {
    const more: JsonObject = {
      ...{ exit_code: done.code, artifacts_dir: done.dir, run_dir: done.runDir },
      levels: done.levels,
    };
    io.out(`${JSON.stringify({ ...done.records.run, ...more }, null, 2)}\n`);
  } else if (options.quiet !== true) {
    const paint = painter(paints(io, io.outIsTerminal, options.color));
    io.out(compileReport(done, options.verbose === true, paint));
  }
  if (options.printSummary === true && options.json !== true)
    io.out(done.records.files.get('compile/compile_summary.json') ?? '');
  if (done.code !== 0) io.err(endingLines(done, painter(paints(io, io.errIsTerminal, options.color))));
  return done.code;
}
