/** A build of eight orders on three levels, whose answers a model server on loopback gives after two seconds each. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Bench, type Case, factory, figuresOf, type Measured } from '../case.ts';
import { Failed, measure } from '../measure.ts';

const answerMs = 2000;

export const ordersAhead: Case = {
  name: 'orders-ahead',
  title: () => 'eight orders on three levels, answers of 2 s: four, three and one asked at once',
  rounds: [3, 1],
  alone: true,
  prepare: (bench) => {
    const plan = join(bench.folder, 'plan.json');
    mkdirSync(bench.folder, { recursive: true });
    writeFileSync(plan, planText());
    return {
      program: (_, id) => built(bench, plan, id, 4),
      beside: {
        three: (id) => built(bench, plan, `${id}-3`, 3),
        one: (id) => built(bench, plan, `${id}-1`, 1),
      },
    };
  },
  comparisons: [
    { what: 'wall of the build, four at once', how: 'value', of: [factory, 'wall_ms'] },
    {
      what: 'four at once / one after another',
      how: 'ratio',
      of: [factory, 'wall_ms'],
      to: ['one', 'wall_ms'],
      limit: 0.55,
    },
    {
      what: 'three at once / one after another',
      how: 'ratio',
      of: ['three', 'wall_ms'],
      to: ['one', 'wall_ms'],
      limit: 0.65,
    },
  ],
};

async function built(bench: Bench, plan: string, id: string, ahead: number): Promise<Measured> {
  await using server = await startModel();
  const { ours, project, folder, env } = bench;
  const words = [
    'run',
    join(project, 'pipelines/build.dot'),
    '--runsdir',
    join(folder, 'runs'),
    '--run-id',
    id,
  ];
  const given = ['--var', `plan=${plan}`, '--var', `ahead=${ahead}`];
  const ran = await measure([...ours.argv, ...words, ...given], {
    ...bench,
    env: { ...env, OPENAI_API_KEY: 'sk-of-the-bench', OPENAI_BASE_URL: server.url },
  });
  if (server.answers() !== 8) throw new Failed(`${server.answers()} answers were asked for, not 8`);
  return { sample: figuresOf(ran) };
}

/** Four orders that wait for none, three that read what the first writes, and one that reads what one of these writes. */
function planText(): string {
  const reads = [[], [], [], [], ['f1.txt'], ['f1.txt'], ['f1.txt'], ['f5.txt']];
  return JSON.stringify({
    system_overview: ['Eight small files.'],
    verify_contract: { command: 'node --check x.js', requires: [] },
    work_orders: reads.map((context, at) => {
      const file = `f${at + 1}.txt`;
      return {
        ...{ id: `WO-0${at + 1}`, title: `Write ${file}`, intent: `Write ${file}.`, notes: null },
        ...{ preconditions: [], postconditions: [{ kind: 'file_exists', path: file }], forbidden: [] },
        ...{ allowed_files: [file], context_files: [file, ...context] },
        acceptance_commands: [`test -f ${file}`],
      };
    }),
  });
}

/** SHA-256 of no bytes: the file is not there yet. */
const absent = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** A model that proposes the file that its prompt names. */
async function startModel() {
  let answers = 0;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += String(piece);
    const path = /## Files you may write\n\n- (\S+)/.exec(JSON.parse(body).input)?.[1] ?? '';
    const text = JSON.stringify({
      summary: path,
      writes: [{ path, base_sha256: absent, content: `${path}\n` }],
    });
    await wait(answerMs);
    answers += 1;
    const output = [{ type: 'message', content: [{ type: 'output_text', text }] }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ id: 'r', status: 'completed', output, usage: { input_tokens: 1, output_tokens: 1 } }),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo; // listening on a port, so it is no pipe's name
  return {
    url: `http://127.0.0.1:${port}/v1`,
    answers: () => answers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
