/** A note to the agents of a run over HTTP. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { type Served, served } from './served.ts';

const pipeline = `digraph g { workdir="none"
  start [shape=Mdiamond] exit [shape=Msquare] gate [shape=hexagon] work [prompt="Do it."]
  start -> gate; gate -> work [label=Go]; work -> exit }`;

let place: Awaited<ReturnType<typeof house>>;
let server: Served;
beforeAll(async () => {
  place = await house({ 'p.dot': pipeline }, () => ({ ATTRACTION_BACKEND: 'fake' }));
  expect((await place.run('p.dot', { runId: 'r1' })).code).toBe(75);
  server = await served(place.path, {});
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

test('a note is given, shown with the run and refused where it cannot be used', async () => {
  const path = '/api/v1/runs/r1/steer';
  expect((await server.json('/api/v1/runs/r1')).acts).toContain('steer');
  const given = await server.post(path, { text: 'Use less ink.' });
  expect(given.status).toBe(200);
  const note = { note: 1, text: 'Use less ink.', branch: null, used_by: null };
  expect(JSON.parse(given.text)).toMatchObject({ run_id: 'r1', note });
  expect((await server.json('/api/v1/runs/r1')).notes).toMatchObject([note]);
  const nowhere = await server.post(path, { text: 'Go.', branch: 'left' });
  expect([nowhere.status, JSON.parse(nowhere.text).code]).toEqual([400, 'steer-branch']);
  expect((await server.post(path, {})).status).toBe(400);
});
