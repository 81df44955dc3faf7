/** What people change in the queue: submit a run; move, hold and drop jobs. Runs that exist keep a line of it in `acts.jsonl`. */
import { removeGivenTexts, writeGivenTexts } from '../../app/given-texts.ts';
import { keepHoldout, releaseHoldout } from '../../app/named-holdouts.ts';
import type { JobQueue } from '../../core/contracts/job-queue.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import type { QueueChange } from '../../core/records/queue-report.ts';
import { type ChangeHost, dropJob, holdJob, type MoveRequest, moveJobs } from '../../keeper/queue-changes.ts';
import { type SubmitRequest, submitRuns } from '../../keeper/submit.ts';
import { newRunId } from '../../run/runs.ts';
import type { MoveBody, SubmitBody } from '../contract.ts';
import { startFlags, typedFlag } from '../start-findings.ts';
import { type StartRequest, startRequest } from '../start-request.ts';
import { type Handlers, notFound, refusal, type Web } from '../web.ts';

/** Milliseconds that an answer waits for a run to stop. */
const stopMs = 2000;

export const queueActsApi: Pick<Handlers, 'submit' | 'moveJob' | 'holdJob' | 'dropJob'> = {
  submit: async ({ web, body }) => {
    const request = await startRequest({ ...body, wait: false }, web);
    if (request instanceof Response) return request;
    const { env, clock, runsDir } = web;
    const { cwd, holdout } = request;
    const host = { cwd, env, clock, runsDir };
    const key = newRunId(clock);
    const given = await writeGivenTexts(runsDir, key, request.texts);
    await keepHoldout(runsDir, holdout, key);
    const asked = submitRequest(body, request, { key, given, notify: body.notify ?? web.notify });
    const done = await web.queue.change((queue) => submitRuns(queue, asked, host, () => {}));
    if ('problems' in done) {
      releaseHoldout(runsDir, holdout, key);
      await removeGivenTexts(runsDir, key);
      return refusal(done, isUsage(done) ? 400 : 409);
    }
    return done;
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
  const { runsDir, clock, closing, who } = web;
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
function submitRequest(
  body: SubmitBody,
  { cwd }: StartRequest,
  {
    key,
    given,
    notify,
  }: Pick<SubmitRequest, 'key' | 'notify'> & { readonly given: Readonly<Record<string, string>> },
): SubmitRequest {
  const { pipeline, labels, priority, not_before, on_project, allow_dirty: allowDirty } = body;
  const files = Object.entries(given).map(([name, path]) => [name, `@${path}`]);
  const flags = {
    ...startFlags(body),
    ...(on_project ? { workdir: typedFlag('workdir', cwd) } : {}),
    ...(labels.length === 0 ? {} : { labels: typedFlag('labels', labels) }),
  };
  return {
    ...{
      names: [pipeline.startsWith('-') ? `./${pipeline}` : pipeline],
      priority,
      notify,
      key,
      flags,
      allowDirty,
    },
    ...{ vars: { ...body.vars, ...Object.fromEntries(files) }, strict: false, inOrder: false },
    notBefore: not_before,
  };
}
