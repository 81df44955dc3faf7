/** What people change in the queue: submit a run; move, hold and drop jobs. Runs that exist keep a line of it in `acts.jsonl`. */
import type { JobQueue } from '../../core/contracts/job-queue.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import type { QueueChange } from '../../core/records/queue-report.ts';
import { runSettings, type SettingName } from '../../core/settings/run.ts';
import type { AttributeSpec } from '../../core/settings/types.ts';
import type { TypedFlag } from '../../keeper/passed-flags.ts';
import { type ChangeHost, dropJob, holdJob, type MoveRequest, moveJobs } from '../../keeper/queue-changes.ts';
import { type SubmitRequest, submitRuns } from '../../keeper/submit.ts';
import type { MoveBody, SubmitBody } from '../contract.ts';
import { type Handlers, notFound, refusal, type Web } from '../web.ts';
import { startProblem, who } from './acts.ts';

/** Milliseconds that an answer waits for a run to stop. */
const stopMs = 2000;

export const queueActsApi: Pick<Handlers, 'submit' | 'moveJob' | 'holdJob' | 'dropJob'> = {
  submit: async ({ web, body }) => {
    const bad = await startProblem(body, web);
    if (bad !== undefined) return bad;
    const { cwd, env, clock, runsDir } = web;
    const host = { cwd, env, clock, runsDir };
    const done = await web.queue.change((queue) =>
      submitRuns(queue, submitRequest(body, web), host, () => {}),
    );
    return 'problems' in done ? refusal(done, isUsage(done) ? 400 : 409) : done;
  },
  moveJob: async ({ web, params, body }) =>
    changed(web, params.job, (queue, host) => moveJobs(queue, params.job, moveRequest(body), host)),
  holdJob: async ({ web, params }) =>
    changed(web, params.job, (queue, host) => holdJob(queue, params.job, '', host)),
  dropJob: async ({ web, params }) =>
    changed(web, params.job, (queue, host) => dropJob(queue, params.job, host)),
};

const isUsage = ({ problems: [first] }: Refusal): boolean => first?.code === 'usage';

async function changed(
  web: Web,
  runId: string,
  act: (queue: JobQueue, host: ChangeHost) => Promise<QueueChange | Refusal>,
): Promise<QueueChange | Response> {
  const { runsDir, clock, closing } = web;
  const host: ChangeHost = { runsDir, clock, who, timeoutMs: stopMs, signal: closing };
  const done = await web.queue.change(async (queue) =>
    (await queue.get(runId)) === undefined ? undefined : act(queue, host),
  );
  if (done === undefined)
    return notFound(`there is no job ${runId} in the queue`, 'GET /api/v1/queue lists the jobs');
  if ('problems' in done) return refusal(done, isUsage(done) ? 400 : 409);
  return done;
}

function moveRequest({ to, priority, not_before }: MoveBody): MoveRequest {
  if (to !== undefined) return { to };
  return priority === undefined ? { notBefore: not_before ?? '' } : { priority };
}

/** As `factory submit` makes it of its flags. */
function submitRequest(body: SubmitBody, { notify }: Web): SubmitRequest {
  const { pipeline, vars, agent, model, labels, limits, priority, not_before } = body;
  const given = { agent, model, ...limits, labels: labels.length === 0 ? undefined : labels };
  const flags = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typedFlag(name as SettingName, value)]],
  );
  return {
    ...{ names: [pipeline.startsWith('-') ? `./${pipeline}` : pipeline], vars, priority, notify },
    ...{ flags: Object.fromEntries(flags), strict: false, allowDirty: false, inOrder: false },
    notBefore: not_before,
  };
}

/** The value of a flag as if it had been typed; of a repeatable one all values. */
function typedFlag(name: SettingName, given: string | number | readonly string[]): TypedFlag {
  const typed = typeof given === 'object' ? given : [String(given)];
  const spec: AttributeSpec = runSettings[name];
  const values = typed.map((text) => {
    const read = spec.read({ kind: 'string', text });
    // The schema of the body has read it already.
    return read.ok ? read.value : text;
  });
  return { value: Array.isArray(values[0]) ? values.flat() : values[0], typed };
}
