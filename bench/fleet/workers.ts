/** Many workers at one queue: how many jobs they take and finish in a second. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { figures, fill, type Ground, groundOf, timed } from './ground.ts';
import type { FleetSizes } from './main.ts';

const anyJob = { most: 1, mostOfLabel: {}, leaves: new Set<string>() };
const forMs = 10_000;

export async function crowd(ground: Ground, { many, workers }: FleetSizes): Promise<readonly string[]> {
  const queue = await ground.open();
  await fill(queue, many, {});
  const startAt = Date.now() + 2000 + workers * 150;
  const [script = '', project = ''] = process.argv.slice(1);
  const all = Array.from({ length: workers }, async () => {
    const child = spawn(process.execPath, [script, project, 'worker', ground.runsDir, String(startAt)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...(ground.db === undefined ? {} : { FACTORY_BENCH_USES: ground.db }) },
    });
    let text = '';
    child.stdout.on('data', (bytes) => {
      text += bytes;
    });
    await once(child, 'close');
    return JSON.parse(text) as number[];
  });
  const ms = (await Promise.all(all)).flat();
  const left = (await queue.list()).length;
  const lost =
    left + ms.length === many ? '' : `, but ${many} - ${ms.length} are not the ${left} that are left`;
  const rate = (ms.length / (forMs / 1000)).toFixed(0);
  return [
    `${many} queued, ${workers} workers: ${rate} jobs a second taken and finished${lost}`,
    figures(`${many} queued, ${workers} workers: a claim and a finish`, ms),
  ];
}

/** A worker process: prints how long each of its jobs took. */
export async function worker([runsDir = '', startAt = '']: readonly string[]): Promise<void> {
  const db = process.env['FACTORY_BENCH_USES'];
  const ground = groundOf(runsDir, db, process.argv[2] ?? '');
  const queue = await ground.open('worker');
  while (Date.now() < Number(startAt)) await new Promise((resolve) => setTimeout(resolve, 50));
  const ms: number[] = [];
  while (Date.now() < Number(startAt) + forMs)
    ms.push(
      await timed(async () => {
        const [got] = await queue.claim(anyJob);
        if (got !== undefined) await queue.finish(got.job.run_id);
      }),
    );
  await ground.close();
  process.stdout.write(JSON.stringify(ms));
}
