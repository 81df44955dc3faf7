/** What is measured by one worker. */
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { figures, fill, type Ground, newJob, timed } from './ground.ts';
import type { FleetSizes } from './main.ts';

type Lines = Promise<readonly string[]>;
const anyJob = { most: 1, mostOfLabel: {}, leaves: new Set<string>() };
/** A worker that has only this label leaves jobs of others to others. */
const own = { ...anyJob, labels: ['own'] };
const far = '2099-01-01T00:00:00.000Z';

export async function submissions(ground: Ground, { trials }: FleetSizes): Lines {
  const one: number[] = [];
  const many: number[] = [];
  for (let trial = 0; trial < trials; trial++)
    one.push(
      await timed(async () => {
        const queue = await ground.open();
        await queue.submit([{ job: newJob(), target: 'now' }]);
        await queue.close();
      }),
    );
  const queue = await ground.open();
  for (let trial = 0; trial < 3; trial++) many.push(await timed(() => fill(queue, 1000, {})));
  return [figures('submit of one, queue opened and closed', one, 50), figures('submit of 1,000', many, 2000)];
}

/** Claims as a worker does: when the queue says that it has changed, until a job is there. */
async function claimed(worker: JobQueue, request: Parameters<JobQueue['claim']>[0]): Promise<string> {
  for (;;) {
    let stop = () => {};
    const change = new Promise<void>((resolve) => {
      stop = worker.onChange(resolve);
    });
    const [got] = await worker.claim(request);
    if (got === undefined) await change;
    stop();
    if (got !== undefined) return got.job.run_id;
  }
}

/** From a submission or a freed slot to the claim, with jobs due that others may take. */
export async function due(ground: Ground, { due, trials }: FleetSizes): Lines {
  const queue = await ground.open();
  const worker = await ground.open('worker');
  await fill(queue, due, { labels: ['other'] });
  const fresh: number[] = [];
  for (let trial = 0; trial < trials; trial++) {
    const got = claimed(worker, own);
    await realClock.sleep(300);
    const start = performance.now();
    await queue.submit([{ job: newJob({ labels: ['own'] }), target: 'now' }]);
    const id = await got;
    fresh.push(performance.now() - start);
    await worker.finish(id);
  }
  const freed: number[] = [];
  for (let trial = 0; trial < trials; trial++) {
    const [before] = await worker.claim(anyJob);
    await realClock.sleep(30);
    freed.push(
      await timed(async () => {
        await worker.finish(before?.job.run_id ?? '');
        const [next] = await worker.claim(anyJob);
        if (next !== undefined) await worker.delay(next.job, 'now');
      }),
    );
  }
  return [
    figures(`${due} due: from the submission of another one to its claim`, fresh, 100),
    figures(`${due} due: from a freed slot through the next claim`, freed, 100),
  ];
}

/** With jobs asleep: from a submission to the claim, and how late one is taken that becomes due. */
export async function asleep(ground: Ground, { asleep, trials }: FleetSizes): Lines {
  const queue = await ground.open();
  const worker = await ground.open('worker');
  await fill(queue, asleep, {}, far);
  const fresh: number[] = [];
  const late: number[] = [];
  for (let trial = 0; trial < trials; trial++) {
    let got = claimed(worker, anyJob);
    await realClock.sleep(300);
    const start = performance.now();
    await queue.submit([{ job: newJob(), target: 'now' }]);
    await worker.finish(await got);
    fresh.push(performance.now() - start);
    got = claimed(worker, anyJob);
    const at = Date.now() + 700;
    await queue.submit([{ job: newJob(), target: { dueAt: new Date(at).toISOString() } }]);
    await worker.finish(await got);
    late.push(Date.now() - at);
  }
  return [
    figures(`${asleep} asleep: from a submission through its claim and end`, fresh, 100),
    figures(`${asleep} asleep: from the time of a delayed one through its claim and end`, late, 1000),
  ];
}

/** What a worker costs that has nothing to do, with jobs asleep. */
export async function idle(ground: Ground, { asleep, idleMs }: FleetSizes): Lines {
  const queue = await ground.open();
  await fill(queue, asleep, {}, far);
  await queue.close();
  const worker = await ground.open('worker');
  worker.onChange(() => void worker.claim(anyJob));
  await worker.claim(anyJob);
  await realClock.sleep(1000);
  const before = process.cpuUsage();
  await realClock.sleep(idleMs);
  const { user, system } = process.cpuUsage(before);
  const share = ((user + system) / 1000 / idleMs) * 100;
  return [`${asleep} asleep: an idle worker takes ${share.toFixed(2)} % of a processor, target 0.5 %`];
}

export async function claims(ground: Ground, { many, trials }: FleetSizes): Lines {
  const queue = await ground.open();
  const filling = await timed(() => fill(queue, many, {}));
  const worker = await ground.open('worker');
  const first = await timed(() => worker.claim(anyJob));
  const rest: number[] = [];
  for (let trial = 0; trial < trials * 4; trial++) rest.push(await timed(() => worker.claim(anyJob)));
  const capped = { ...anyJob, mostOfLabel: { flood: 1 } };
  await fill(queue, 1, { labels: ['flood'], priority: 1 });
  await worker.claim(capped);
  await fill(queue, Math.floor(many / 10), { labels: ['flood'], priority: 1 });
  const past: number[] = [];
  for (let trial = 0; trial < trials; trial++) past.push(await timed(() => worker.claim(capped)));
  return [
    `${many} queued: submitted in ${(filling / 1000).toFixed(1)} s, the first claim of a worker ${first.toFixed(0)} ms`,
    figures(`${many} queued: a claim`, rest),
    figures(`${many} queued, behind ${Math.floor(many / 10)} of a full label: a claim`, past),
  ];
}
