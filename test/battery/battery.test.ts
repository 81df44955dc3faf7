/** The black-box battery: a folder per case in `cases/`, run against the built command line. */
import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';

const here = import.meta.dirname;
const cases = readdirSync(join(here, 'cases')).sort();
type Report = readonly {
  readonly id: string;
  readonly skipped?: string;
  readonly reasons?: readonly string[];
}[];
let report: Report | undefined;
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'battery-'));
  const file = join(folder, 'report.json');
  const runner = join(here, '../../scripts/conformance/run.mjs');
  await execa(process.execPath, [runner, '--vectors', join(here, 'cases'), '--json', file], {
    reject: false,
    stdin: 'ignore',
  });
  report = JSON.parse(await readFile(file, 'utf8'));
}, 180_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test.for(cases)('%s', (id) => {
  const result = report?.find((one) => one.id === id);
  expect(result, 'the case did not run').toBeDefined();
  expect(result?.skipped).toBeUndefined();
  expect(result?.reasons).toEqual([]);
});
