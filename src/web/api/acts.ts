/** What the page can do with a run: stop, resume, fork, replay, deliver and remove it. Each leaves a line in `acts.jsonl`. */
import { resolve } from 'node:path';
import { commandFor, placeWords, recordAct } from '../../app/acts.ts';
import type { StartReport } from '../../app/answers.ts';
import { deliverRun } from '../../app/deliver.ts';
import { problemOfStart, reportOfStart } from '../../app/detach.ts';
import { dismissRun } from '../../app/dismiss-run.ts';
import { removableRun, removeRun } from '../../app/remove-run.ts';
import { reportOfStop, stopRun } from '../../app/stop.ts';
import type { Json } from '../../core/json.ts';
import { newRunId } from '../../run/runs.ts';
import { forkArguments, removeArguments, replayArguments, resumeArguments } from '../command-line.ts';
import { type Handlers, problem, refusal, type Web } from '../web.ts';

/** Milliseconds that an answer waits for a run to stop. */
const stopMs = 2000;

export const actsApi: Pick<
  Handlers,
  'dismiss' | 'stop' | 'resume' | 'fork' | 'replay' | 'remove' | 'deliver'
> = {
  stop: async ({ web, run, body: { after_node: afterNode } }) => {
    const stopped = await stopRun(run.id, run.dir, {
      who: web.who,
      clock: web.clock,
      afterNode,
      timeoutMs: stopMs,
    });
    web.runs.expect(run.id);
    if (stopped.kind === 'refused') return problem(409, 'refused', stopped.why, stopped.fix);
    if (stopped.kind === 'not_running') return problem(409, 'refused', `run ${run.id} does not run`);
    return reportOfStop(run.dir, stopped, (await web.runs.row(run.id))?.next ?? '', web, afterNode);
  },
  dismiss: async ({ web, run }) => {
    const done = await dismissRun(run.dir, web.who, web);
    web.runs.expect(run.id);
    return 'problems' in done ? refusal(done) : done;
  },
  resume: async ({ web, run, body }) => {
    const argv = [...resumeArguments(run.id, body), ...placeWords(web.runsDir, web.cwd)];
    return beginRun(web, run.id, argv, { act: { what: 'resume', ...body } });
  },
  fork: async ({ web, run, body }) => {
    const id = newRunId(web.clock);
    const argv = [...forkArguments(run.id, body), ...placeWords(web.runsDir, web.cwd)];
    // The record of the fork has the texts, and its note with secrets masked.
    const { note: _, ...where } = body;
    const act = { what: 'fork', ...where, set: Object.keys(body.set ?? {}), run_id: id };
    return beginRun(web, id, argv, { hidden: [`--run-id=${id}`], act, source: run.dir });
  },
  replay: async ({ web, run, body }) => {
    const id = newRunId(web.clock);
    const argv = [...replayArguments(run.id, body), ...placeWords(web.runsDir, web.cwd)];
    const act = { what: 'replay', ...body, run_id: id };
    return beginRun(web, id, argv, { hidden: [`--run-id=${id}`], act, source: run.dir });
  },
  remove: async ({ web, run, body }) => {
    const found = await removableRun(run, body, web);
    if ('problems' in found) return refusal(found);
    const { status } = found;
    const done = await removeRun(run, web);
    web.runs.expect(run.id);
    if ('problems' in done) return refusal(done);
    return {
      ...{ schema_version: 1 as const, run_id: run.id, status, freed_bytes: done.freed },
      command: commandFor(run.dir, removeArguments(run.id, body), web),
    };
  },
  deliver: async ({ web, run, body }) => {
    // A push that has begun is not stopped with the server.
    const done = await deliverRun(run.dir, body, { ...web, signal: () => new AbortController().signal });
    web.runs.expect(run.id);
    return 'problems' in done ? refusal(done) : done;
  },
};

type Fact = { readonly what: string; readonly [detail: string]: Json };

/** The line in `acts.jsonl`. Without it, on a full disk or in a run that was removed meanwhile, the act has happened all
 *  the same: an error would make people repeat it. */
export function recordPageAct(web: Web, dir: string, act: Fact): void {
  try {
    recordAct(dir, { who: web.who, ...act }, web.clock);
  } catch {}
}

/** How a run is begun, and what is recorded of it. */
export type RunStart = {
  /** Words that are left out of the command that is shown. */
  readonly hidden?: readonly string[];
  readonly act: Fact;
  /** The run in which the act is recorded; default: the new one. */
  readonly source?: string;
  /** The folder in which the command is executed; default: that of the server. */
  readonly cwd?: string;
  readonly notify?: string | undefined;
};

/** Starts `argv` in the background. */
export async function beginRun(
  web: Web,
  runId: string,
  argv: readonly string[],
  { hidden = [], act, source, cwd = web.cwd, notify = web.notify }: RunStart,
): Promise<StartReport | Response> {
  const started = await web.start([...argv, ...hidden, '--json'], { cwd, notify });
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
