/** What the page can do: start, stop, resume, fork and deliver runs. Each leaves a line in `acts.jsonl`. */
import { resolve } from 'node:path';
import { placeWords, recordAct } from '../../app/acts.ts';
import type { OfferedPipeline, StartReport } from '../../app/answers.ts';
import { deliverRun } from '../../app/deliver.ts';
import { problemOfStart, reportOfStart } from '../../app/detach.ts';
import { offeredPipelines } from '../../app/pipelines.ts';
import { reportOfStop, stopRun } from '../../app/stop.ts';
import type { Json } from '../../core/json.ts';
import { innerPath } from '../../core/records/names.ts';
import { staysInside } from '../../platform/files/inside.ts';
import { newRunId } from '../../run/runs.ts';
import { forkArguments, resumeArguments, startArguments } from '../command-line.ts';
import type { StartBody } from '../contract.ts';
import { type Handlers, problem, refusal, type Web } from '../web.ts';

/** Milliseconds that an answer waits for a run to stop. */
const stopMs = 2000;

export const actsApi: Pick<Handlers, 'start' | 'stop' | 'resume' | 'fork' | 'deliver'> = {
  start: async ({ web, body }) => {
    const bad = await startProblem(body, web);
    if (bad !== undefined) return bad;
    const id = newRunId(web.clock);
    const argv = [...startArguments(body), ...placeWords(web.runsDir, web.cwd)];
    return begin(web, id, argv, [`--run-id=${id}`], { what: 'start', pipeline: body.pipeline });
  },
  stop: async ({ web, run, body: { after_node: afterNode } }) => {
    const stopped = await stopRun(run.id, run.dir, { who, clock: web.clock, afterNode, timeoutMs: stopMs });
    web.runs.expect(run.id);
    if (stopped.kind === 'refused') return problem(409, 'refused', stopped.why, stopped.fix);
    if (stopped.kind === 'not_running') return problem(409, 'refused', `run ${run.id} does not run`);
    return reportOfStop(run.dir, stopped, (await web.runs.row(run.id))?.next ?? '', web, afterNode);
  },
  resume: async ({ web, run, body }) => {
    const argv = [...resumeArguments(run.id, body), ...placeWords(web.runsDir, web.cwd)];
    return begin(web, run.id, argv, [], { what: 'resume', ...body });
  },
  fork: async ({ web, run, body }) => {
    const id = newRunId(web.clock);
    const argv = [...forkArguments(run.id, body), ...placeWords(web.runsDir, web.cwd)];
    // The record of the fork has the texts, and its note with secrets masked.
    const { note: _, ...where } = body;
    const act = { what: 'fork', ...where, set: Object.keys(body.set ?? {}), run_id: id };
    return begin(web, id, argv, [`--run-id=${id}`], act, run.dir);
  },
  deliver: async ({ web, run, body }) => {
    // A push that has begun is not stopped with the server.
    const done = await deliverRun(run.dir, body, { ...web, who, signal: () => new AbortController().signal });
    web.runs.expect(run.id);
    return 'problems' in done ? refusal(done) : done;
  },
};

/** Why a run is not offered here: its pipeline, or a file that it names. */
export async function startProblem(
  body: Pick<StartBody, 'pipeline' | 'vars'>,
  web: Web,
): Promise<Response | undefined> {
  const pipeline = (await offeredPipelines(web.cwd)).find(({ name }) => name === body.pipeline);
  if (pipeline === undefined)
    return problem(400, 'bad-request', `there is no pipeline ${body.pipeline}`, 'see GET /api/v1/pipelines');
  const outside = await outsideFile(pipeline, body, web);
  if (outside !== undefined)
    return problem(400, 'bad-request', `${outside} is no file of the folder`, 'see GET /api/v1/files');
  return undefined;
}

/** Who acts, in records. */
export const who = 'page';

type Fact = { readonly what: string; readonly [detail: string]: Json };

/** The line in `acts.jsonl`. Without it, on a full disk or in a run that was removed meanwhile, the act has happened all
 *  the same: an error would make people repeat it. */
export function recordPageAct(web: Web, dir: string, act: Fact): void {
  try {
    recordAct(dir, { who, ...act }, web.clock);
  } catch {}
}

/** Starts `argv` in the background; `hidden` is left out of the command that is shown. The act is recorded in `source`, by default in
 *  the run itself. */
async function begin(
  web: Web,
  runId: string,
  argv: readonly string[],
  hidden: readonly string[],
  act: Fact,
  source?: string,
): Promise<StartReport | Response> {
  const started = await web.start([...argv, ...hidden, '--json']);
  web.runs.expect(runId);
  if (started.kind === 'ended' && started.code !== 0) {
    const { message, fix } = problemOfStart(started);
    return problem(409, 'refused', message, fix);
  }
  const dir = resolve(web.runsDir, runId);
  const answer = reportOfStart(started, argv, { dir, program: web.called?.program });
  recordPageAct(web, source ?? answer.run_dir, act);
  return answer;
}

/** The first file that a variable names outside the folder, or below a name that begins with a dot: only files that the
 *  server offers are read. */
async function outsideFile(
  { variables }: OfferedPipeline,
  { vars }: Pick<StartBody, 'vars'>,
  { cwd }: Web,
): Promise<string | undefined> {
  for (const [name, value] of Object.entries(vars)) {
    const isFile = value.startsWith('@') || variables.some((one) => one.file && one.name === name);
    if (!isFile) continue;
    const path = value.replace(/^@/, '');
    const isOffered =
      innerPath().safeParse(path).success && !path.split('/').some((part) => /^\.(?!$)/.test(part));
    if (!isOffered || !(await staysInside(cwd, path))) return path;
  }
  return undefined;
}
