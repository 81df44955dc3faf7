/** A run that many clients look at: what they cost the server, and the run. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type Bench,
  type Case,
  type Comparison,
  factory,
  figuresOf,
  type Measured,
  type Program,
  runPipeline,
  versus,
} from '../case.ts';
import { chain } from '../material.ts';
import { type Served, serveRuns } from '../server.ts';

const alone = 'no clients';

/** Each has a stream of the run. */
export const clients = caseOf('clients', 'with a stream each', ({ stream }) => stream, [
  { what: 'the server', how: 'value', of: [factory, 'server_pc'], limit: 15 },
  { what: `the run / ${alone}`, how: 'ratio', of: [factory, 'wall_ms'], to: [alone, 'wall_ms'], limit: 1.15 },
]);

/** Each also asks for the view of the run again whenever it is sent something, as the page does. */
export const pages = caseOf('pages', 'as pages', ({ page }) => page, [
  { what: 'the server', how: 'value', of: [factory, 'server_pc'] },
  { what: `the run / ${alone}`, how: 'ratio', of: [factory, 'wall_ms'], to: [alone, 'wall_ms'] },
]);

type Client = { readonly sawEnd: () => boolean; readonly leave: () => void };
type Ways = Readonly<Record<'stream' | 'page', (server: Served, id: string) => Client>>;

function caseOf(
  name: string,
  how: string,
  way: (ways: Ways) => Ways['stream'],
  comparisons: readonly Comparison[],
): Case {
  return {
    name,
    title: ({ clients: count, clientNodes }) =>
      `${count} clients ${how} at a run of ${clientNodes} nodes that sleep 0.15 s`,
    rounds: [3, 1],
    prepare: (bench) => {
      const pipeline = join(bench.folder, 'chain.dot');
      const workdir = join(bench.folder, 'workdir');
      mkdirSync(workdir);
      writeFileSync(pipeline, chain(bench.sizes.clientNodes).replaceAll('"true"', '"sleep 0.15"'));
      const what = { pipeline, workdir };
      const open = way({ stream: openStream, page: openPage });
      return {
        program: (program, id) => lookedAt(bench, program, { ...what, id }, bench.sizes.clients, open),
        beside: { [alone]: (id) => lookedAt(bench, bench.ours, { ...what, id }, 0, open) },
      };
    },
    comparisons: [...comparisons, ...versus('server_pc', 'wall_ms', 'cpu_ms')],
  };
}

async function lookedAt(
  bench: Bench,
  program: Program,
  what: { readonly pipeline: string; readonly workdir: string; readonly id: string },
  count: number,
  open: Ways['stream'],
): Promise<Measured> {
  const runs = join(bench.folder, `runs-${program.name}`);
  mkdirSync(runs, { recursive: true });
  await using server = await serveRuns(bench, program, runs);
  const running = runPipeline(bench, program, what);
  while (!existsSync(join(runs, what.id, 'events.jsonl')) && !bench.signal.aborted)
    await Promise.race([running, wait(20)]);
  const all = Array.from({ length: count }, () => open(server, what.id));
  // Until they have what was there before.
  await wait(500);
  const [ran, share] = await Promise.all([running, server.share(bench.sizes.clientNodes * 80)]);
  for (let turn = 0; turn < 100 && !all.every(({ sawEnd }) => sawEnd()); turn += 1) await wait(50);
  const missed = all.filter(({ sawEnd }) => !sawEnd()).length;
  for (const { leave } of all) leave();
  return {
    sample: { ...figuresOf(ran), server_pc: share },
    ...(missed === 0 ? {} : { problem: `${missed} of ${count} clients were not sent the end of the run` }),
  };
}

function openStream({ origin, authorization }: Served, id: string, told: () => void = () => {}): Client {
  let end = '';
  let sawEnd = false;
  const path = `${origin}/api/v1/runs/${id}/stream`;
  const sent = request(path, { agent: new Agent(), headers: { authorization } }, (response) => {
    response.setEncoding('utf8').on('data', (text: string) => {
      end = (end + text).slice(-4096);
      sawEnd ||= end.includes('"type":"PipelineCompleted"');
      told();
    });
    response.on('error', () => {});
  });
  sent.on('error', () => {});
  sent.end();
  return { sawEnd: () => sawEnd, leave: () => void sent.destroy() };
}

/** As `repeated` of the page's store: never twice at a time, and with pauses. */
function openPage(server: Served, id: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let isBusy = false;
  let again = false;
  let isOpen = true;
  const view = async (): Promise<void> => {
    again = true;
    if (isBusy) return;
    isBusy = true;
    while (again && isOpen) {
      again = false;
      const start = performance.now();
      await read(server, `/api/v1/runs/${id}`, agent);
      await wait(Math.max(250, 3 * (performance.now() - start)));
    }
    isBusy = false;
  };
  const { sawEnd, leave } = openStream(server, id, () => void view());
  return {
    sawEnd,
    leave: () => {
      isOpen = false;
      leave();
      agent.destroy();
    },
  };
}

const read = ({ origin, authorization }: Served, path: string, agent: Agent): Promise<void> =>
  new Promise((done) => {
    const sent = request(`${origin}${path}`, { agent, headers: { authorization } }, (response) => {
      response
        .resume()
        .on('end', done)
        .on('error', () => done());
    });
    sent.on('error', () => done());
    sent.end();
  });
