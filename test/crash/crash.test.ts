/** A part of the matrix: points that failed once, and a sample of the rest. `npm run crash` runs all of it. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../support/cli.ts';
import { bundle } from './bundle.ts';
import { type Action, type Kind, random } from './faults/plan.ts';
import {
  allPointsOf,
  type Baseline,
  baseline,
  carryOut,
  type Point,
  pointsOf,
  seedOf,
  spell,
} from './matrix.ts';
import { stories } from './stories.ts';

const known = process.platform === 'linux';
let folder: string;
let cli: string;
let base: Baseline;
let everyKind: Baseline;
let judged: Baseline;
let parked: Baseline;
let forked: Baseline;
let asking: Baseline;

beforeAll(async () => {
  if (!known) return;
  folder = await mkdtemp(join(tmpdir(), 'crash-cli-'));
  cli = await bundle(root, folder);
  const all = await stories((path) => readFile(join(root, path), 'utf8'));
  const undisturbed = (name: string): Promise<Baseline> => {
    const story = all.find((one) => one.name === name);
    if (story === undefined) throw new Error(`no story "${name}"`);
    return baseline(cli, story);
  };
  [base, everyKind, judged, parked, forked, asking] = await Promise.all([
    undisturbed('answers'),
    undisturbed('nodes'),
    undisturbed('sealed'),
    undisturbed('parks'),
    undisturbed('forks'),
    undisturbed('gates'),
  ]);
}, 180_000);
afterAll(() => (known ? rm(folder, { recursive: true, force: true }) : undefined));

/** The point of the `nth` (negative: from the end) of the operations of a story that fit. */
function pointAt(of: Baseline, kind: Kind, what: RegExp, nth: number, action: Action, who = 'engine'): Point {
  const all = of.operations[who] ?? [];
  const fitting: number[] = [];
  let k = 0;
  for (const operation of all) {
    if (operation.kind !== kind) continue;
    k++;
    if (what.test(operation.what)) fitting.push(k);
  }
  const at = fitting.at(nth);
  if (at === undefined) throw new Error(`no ${kind} of ${what}`);
  return { story: of.story.name, who, kind, k: at, action };
}

const held = async (of: Baseline, point: Point, seed: number): Promise<void> => {
  const { fired, wrong } = await carryOut(cli, of, point, seedOf(point, seed));
  const told = `${fired ?? 'it did not come to'} ${spell(point)}; npm run crash -- --point ${spell(point)} --seed ${seed}`;
  expect(wrong, `${told}\n${wrong.join('\n')}`).toEqual([]);
  expect(fired, told).toBeDefined();
};

describe
  .skipIf(!known)
  .concurrent('a run ends as the undisturbed one, and leaves nothing behind, though', () => {
    const rows: readonly (readonly [string, Kind, RegExp, number, Action])[] = [
      ['it was killed in the middle of a checkpoint', 'write', /\.checkpoint\.json\./, 2, 'kill'],
      ['the power failed right after the run directory was renamed', 'sync', /\/r1\/lock$/, 0, 'power'],
      ['the disk failed when the journal was flushed', 'sync', /journal\.jsonl$/, 2, 'error'],
      ['chmod failed when an answer was put into the workspace', 'mode', /\.answer\.txt/, 0, 'error'],
      ['the disk was full when a trace record was half written', 'write', /trace\.jsonl$/, 8, 'full'],
      ['the disk was full when the result was written', 'write', /\.result\.json/, 0, 'full'],
      ['the power failed when it had ended and released its lock', 'create', /lock\/\.0/, -1, 'power'],
    ];
    test.for(rows)('%s', ([, kind, what, nth, action]) =>
      held(base, pointAt(base, kind, what, nth, action), 1),
    );
  });

test.skipIf(!known)(
  'holdout scenarios are restored to the workspace although the disk was full after the result was written',
  () => held(judged, pointAt(judged, 'sync', /\/runs\/r1$/, -1, 'full'), 1),
);

test.skipIf(!known)('a checkout with a disk error reports where and what to do, and can be repeated', () =>
  held(forked, pointAt(forked, 'rename', /\.factory-restore\./, 0, 'error', 'engine.4'), 1),
);

describe.skipIf(!known)('a suspended run resumes to the same end although', () => {
  test.for([
    ['it was killed while its resume replaced the manifest', 'rename', 'kill', 'engine'],
    ['the power failed there', 'rename', 'power', 'engine'],
    ['that was in a nested run of a node', 'rename', 'kill', 'tool1.2'],
  ] as const)('%s', ([, kind, action, who]) =>
    held(parked, pointAt(parked, kind, /\.manifest\.json/, -1, action, who), 1),
  );
});

describe.skipIf(!known)('a gate gets the same answer although', () => {
  test.for([
    ['its run was killed before the file was linked', 'kill', 0],
    ['the power failed right after that', 'power', 0],
    ['its run was killed when the deadline was claimed', 'kill', -1],
  ] as const)('%s', ([, action, nth]) =>
    held(asking, pointAt(asking, 'link', /\/answers\//, nth, action, nth === 0 ? 'engine' : 'engine.3'), 1),
  );
});

test.skipIf(!known)(
  'an execution is committed by one flush of the journal, before anything is derived from its line',
  () => {
    const own = /\/r1\/\.?(journal|checkpoint|events|trace)\.json\S*$/;
    const story = (everyKind.operations['engine'] ?? []).flatMap(({ kind, what }) => {
      const [, name = ''] = own.exec(what) ?? [];
      return name === '' || kind === 'create' ? [] : [`${kind} ${name}`];
    });
    const flushes = story.filter((one) => one === 'sync journal').length;
    // The end of the run flushes all of its files once more.
    expect(flushes - story.filter((one) => one === 'rename checkpoint').length).toBeLessThanOrEqual(2);
    for (const [n, one] of story.entries())
      if (one === 'rename checkpoint')
        expect(story.slice(0, n).findLast((was) => was.endsWith(' journal'))).toBe('sync journal');
  },
);

test.skipIf(!known)(
  'the matrix has every fault of the journal and the snapshots, and leaves out equivalent ones',
  () => {
    const all = [base, everyKind, judged];
    const isCommit = ({ kind, what }: { kind: string; what: string }) =>
      ['write', 'sync', 'rename'].includes(kind) && /\/r1\/(journal\.jsonl|snapshots\/)/.test(what);
    for (const of of all) {
      const every = allPointsOf(of).filter(isCommit).map(spell);
      expect(every.length).toBeGreaterThan(20);
      expect(pointsOf(of).map(spell)).toEqual(expect.arrayContaining(every));
    }
    expect(all.flatMap((of) => pointsOf(of)).length).toBeLessThanOrEqual(1500);
  },
);

test.skipIf(!known)('the folders created for the first run are flushed with their parents', () => {
  const all = (base.operations['engine'] ?? []).map(({ what }) => what);
  expect(all.map((what) => what.replace('mkdirSync', 'mkdir'))).toContain('mkdir /.factory');
  for (const folder of ['/.factory/runs', '/.factory', '']) expect(all).toContain(`fsync ${folder}`);
});

test.skipIf(!known)(
  'a sample of points, selected by FACTORY_CRASH_SEED',
  async () => {
    const seed = Number(process.env['FACTORY_CRASH_SEED'] ?? '4');
    const chance = random(seed);
    for (const of of [base, parked, forked]) {
      const points = pointsOf(of);
      const point = points[Math.floor(chance() * points.length)];
      if (point !== undefined) await held(of, point, seed);
    }
  },
  180_000,
);
