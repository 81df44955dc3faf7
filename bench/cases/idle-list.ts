/** A page that shows a list of many runs, none of which runs: what its client costs the server. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Bench, type Case, factory, type Measured, type Program, runPipeline, versus } from '../case.ts';
import { chain } from '../material.ts';
import { type Served, serveRuns } from '../server.ts';

export const idleList: Case = {
  name: 'idle-list',
  title: ({ listRuns }) => `a client of the list of ${listRuns} runs, none of which runs`,
  rounds: [3, 1],
  prepare: (bench) => {
    let made: Promise<string> | undefined;
    return {
      program: async (program) => {
        made ??= manyRuns(bench);
        return watched(bench, program, await made);
      },
      beside: {},
    };
  },
  comparisons: [
    { what: 'the server', how: 'value', of: [factory, 'server_pc'], limit: 0.5 },
    ...versus('server_pc'),
  ],
};

async function watched(bench: Bench, program: Program, runs: string): Promise<Measured> {
  await using server = await serveRuns(bench, program, runs);
  const list = openList(server);
  await Promise.race([list.isSent, wait(bench.limitMs)]);
  // What follows a first reading is not what an idle server costs.
  await wait(bench.sizes.listMs);
  const share = await server.share(bench.sizes.listMs);
  list.leave();
  return { sample: { server_pc: share } };
}

/** As the page: its stream, and now and then how many jobs need a person. */
function openList(server: Served): { readonly isSent: Promise<void>; readonly leave: () => void } {
  const headers = { authorization: server.authorization };
  let resolve = (): void => {};
  const isSent = new Promise<void>((done) => {
    resolve = done;
  });
  const stream = request(`${server.origin}/api/v1/stream?limit=1000`, { headers }, (response) => {
    response.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('event: runs')) resolve();
    });
    response.on('error', () => {});
  });
  stream.on('error', () => {}).end();
  const asking = setInterval(() => {
    const asked = request(`${server.origin}/api/v1/queue?most=0`, { headers }, (response) => {
      response.resume().on('error', () => {});
    });
    asked.on('error', () => {}).end();
  }, 15_000);
  const leave = (): void => {
    clearInterval(asking);
    stream.destroy();
  };
  return { isSent, leave };
}

/** Copies of the records of one run: what a list reads of it. */
async function manyRuns(bench: Bench): Promise<string> {
  const pipeline = join(bench.folder, 'chain.dot');
  const workdir = join(bench.folder, 'workdir');
  const runs = join(bench.folder, 'runs');
  mkdirSync(workdir);
  mkdirSync(runs);
  writeFileSync(pipeline, chain(3));
  const { runDir } = await runPipeline(bench, bench.ours, { pipeline, workdir, id: 'one' });
  const records = [
    'manifest.json',
    'checkpoint.json',
    'journal.jsonl',
    'events.jsonl',
    'result.json',
    'lock',
  ];
  for (let at = 0; at < bench.sizes.listRuns; at++)
    for (const name of records)
      cpSync(join(runDir, name), join(runs, `r${String(at).padStart(5, '0')}`, name), { recursive: true });
  return runs;
}
