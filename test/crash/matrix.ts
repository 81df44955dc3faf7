/** The matrix: every operation of an undisturbed run, and the faults applied to it. One case: a fault, resumes until the run
 *  ends, and a comparison with the undisturbed run. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Digest, differences, digestOfAll, leftovers, routeOf } from './digest.ts';
import { type Action, random } from './faults/plan.ts';
import { type Ended, type Ground, ground } from './ground.ts';
import type { Step, Story } from './stories.ts';

export type Baseline = {
  readonly story: Story;
  readonly digest: Digest;
  readonly route: readonly string[];
  readonly ledger: readonly string[];
  /** Operations by process: `engine`, `tool1`, …, of the second command `engine.2`, …; each kind's in order. */
  readonly operations: Readonly<Record<string, readonly { readonly kind: string; readonly what: string }[]>>;
};

export type Point = {
  readonly story: string;
  readonly who: string;
  readonly kind: string;
  readonly k: number;
  readonly action: Action;
};

export const spell = (point: Point): string =>
  [point.story, point.who, point.kind, point.k, point.action].join(':');

/** FNV-1a. */
function hashOf(text: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** The seed of a point, so that it can be repeated alone. */
export const seedOf = (point: Point, seed: number): number => hashOf(spell(point), seed);

const resume = (run: string) => ['resume', run];

/** The commands of the story: the run, and those after it. */
const stepsOf = ({ flags, code, after = [] }: Story): readonly Step[] => [
  { args: ['run', 'p.dot', '--run-id', 'r1', ...flags], code, makes: 'r1' },
  ...after,
];

/** The process of a point and its command's place among those of the story. */
const placeOf = (who: string): readonly [who: string, step: number] => {
  const [whom = '', nth = '1'] = who.split('.');
  return [whom, Number(nth) - 1];
};

/** Runs the story undisturbed. */
export async function baseline(cli: string, story: Story): Promise<Baseline> {
  await using at = await ground(cli, story);
  const operations: Record<string, { kind: string; what: string }[]> = {};
  for (const [nth, step] of stepsOf(story).entries()) {
    await at.put(step.before ?? {});
    const ended = await at.factory(step.args, '', 1);
    if (ended.code !== step.code)
      throw new Error(`${story.name}: ${step.args[0]} ended with ${ended.code}: ${ended.said}`);
    for (let n = 0; ; n++) {
      const who = n === 0 ? 'engine' : `tool${n}`;
      const found = at.operations(who);
      if (found.length === 0) break;
      operations[nth === 0 ? who : `${who}.${nth + 1}`] = [...found];
    }
  }
  return {
    story,
    digest: await digestOfAll(at.home, story),
    route: (await routeOf(at.runDir)).began,
    ledger: await at.ledger(),
    operations,
  };
}

/** The faults for an operation of this kind. A kill after an operation equals one before the next, except for programs and
 *  renames; on a full disk nothing can be added. */
function actionsFor(kind: string, who: string): readonly Action[] {
  return [
    'kill',
    'power',
    'error',
    ...(['create', 'write', 'sync', 'link', 'mkdir'].includes(kind) ? (['full'] as const) : []),
    ...(['rename', 'link', 'spawn'].includes(kind) ? (['after'] as const) : []),
    ...(who.startsWith('engine') ? [] : (['orphan'] as const)),
  ];
}

/** Files and folders that a run is resumed from, those of a repository, and names of runs: each of their writes, flushes and
 *  renames counts. */
const state = new RegExp(
  [
    String.raw`/\.?(?:journal\.jsonl|manifest\.json|\.sealed)(?:\.\w+\.tmp)?$`,
    '/answers/',
    String.raw`/(?:contents|history\.git|lock|\.hidden|\.git|keys)(?:/|$)`,
    String.raw`/\.factory(?:/runs(?:/[^/]+)?)?$`,
  ].join('|'),
);
const isState = (kind: string, what: string): boolean =>
  ['write', 'sync', 'rename', 'link'].includes(kind) && state.test(what);

/** Operations between two flushes of the journal on the same file, also under its temporary name, differ in nothing that a
 *  resume could tell, nor do the flushes of one tree. */
function fileOf(kind: string, what: string): string {
  if (kind === 'spawn') return what;
  if (kind === 'sync') return 'sync';
  // A holdout file that is put there or taken away.
  const how = what.includes('/workspace/') ? kind : '';
  return what
    .replace(/^\S+ /, `${how} `)
    .replace(/\/\.[^/]+\.new(?=\/|$)/, '/new')
    .replace(/\/\.([^/]+)\.[0-9a-f]{12}\w*\.tmp$/, '/$1')
    .replace(/[0-9a-f]{12,}/g, '')
    .replace(/(?<=factory-stage-)\d+|(?<=\/\.pipes-)\w+/, '');
}

/** A point with the operation that it hits in an undisturbed run. */
export type Found = Point & { readonly what: string };

/** Every operation with every fault. */
export function allPointsOf({ story, operations }: Baseline): Found[] {
  return Object.entries(operations).flatMap(([who, found]) => {
    const counts = new Map<string, number>();
    return found.flatMap(({ kind, what }) => {
      const k = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, k);
      return actionsFor(kind, who).map((action) => ({ story: story.name, who, kind, k, action, what }));
    });
  });
}

/** The points of the story's matrix: all those of the run's state; one of each other file of an execution, selected by the
 *  seed. */
export function pointsOf(base: Baseline, seed = 1): Found[] {
  const chosen: Found[] = [];
  const groups = new Map<string, Found[]>();
  let commits = 0;
  for (const point of allPointsOf(base)) {
    const { who, kind, what, action } = point;
    if (isState(kind, what)) {
      chosen.push(point);
      if (kind === 'sync' && action === 'kill' && what.endsWith('journal.jsonl')) commits++;
      continue;
    }
    const group = `${who} ${commits} ${fileOf(kind, what)}`;
    groups.set(group, [...(groups.get(group) ?? []), point]);
  }
  for (const [group, points] of groups) {
    const point = points[hashOf(group, seed) % points.length];
    if (point !== undefined) chosen.push(point);
  }
  return chosen;
}

export type Verdict = { readonly fired: string | undefined; readonly wrong: readonly string[] };

/** Runs one case. The seed decides what a power failure loses and where a resume is killed again. */
export async function carryOut(cli: string, base: Baseline, point: Point, seed: number): Promise<Verdict> {
  await using at = await ground(cli, base.story);
  try {
    return await inGround(at, base, point, seed);
  } catch (error) {
    return { fired: await at.fired(), wrong: [error instanceof Error ? (error.stack ?? '') : String(error)] };
  }
}

async function inGround(at: Ground, base: Baseline, point: Point, seed: number): Promise<Verdict> {
  const [, cut] = placeOf(point.who);
  const steps = stepsOf(base.story);
  for (const step of steps.slice(0, cut)) {
    await at.put(step.before ?? {});
    await at.factory(step.args, '', seed);
  }
  const step = steps[cut];
  if (step === undefined) throw new Error(`no command ${point.who}`);
  await at.put(step.before ?? {});
  const { kind, action } = point;
  const { fired, wrong, story, disturbances, powerCut, ended, failed } = await disturbed(
    at,
    step,
    point,
    seed,
  );
  const lenient = failed && (!point.who.startsWith('engine') || kind === 'spawn');
  if (lenient && (ended.code === 0 || ended.code === 1 || ended.code === step.code)) {
    // Files that it may not remove remain.
    wrong.push(...(await untidy(at, kind !== 'unlink')));
  } else if (ended.code !== step.code && !isDamagedReplay(step, ended, powerCut)) {
    wrong.push(`it ended with ${ended.code ?? ended.signal}`);
    wrong.push(...(await untidy(at)));
  } else {
    const lost = isDamagedReplay(step, ended, powerCut) ? [step.makes] : [];
    for (const after of steps.slice(cut + 1)) {
      await at.put(after.before ?? {});
      const last = await at.factory(after.args, '', seed);
      story.push(last.said);
      if (isDamagedReplay(after, last, powerCut)) lost.push(after.makes);
      else if (last.code !== after.code)
        wrong.push(`${after.args.join(' ')} ended with ${last.code ?? last.signal}`);
    }
    const runs = (base.story.runs ?? []).filter((run) => !lost.includes(run));
    wrong.push(...(await unequal(at, base, runs, powerCut)));
    wrong.push(...(await wrongRoute(at, base)));
    wrong.push(...wrongLedger(base.ledger, await at.ledger(), disturbances));
    // An equal run must also pass verification against its records.
    for (const run of ['r1', ...runs]) {
      const verified = await at.factory(['verify', run], '', seed);
      if (verified.code !== 0 && !(powerCut && isLoss(verified.said)))
        wrong.push(`verify ${run}: ${verified.said}`);
    }
    wrong.push(...(await untidy(at, action !== 'error' || kind !== 'unlink')));
  }
  if (wrong.length > 0) wrong.push(...story.map((said) => said.split('\n').slice(-12).join('\n')));
  return { fired, wrong };
}

/** Whether a replay was refused since a power cut has taken artifacts of its run's tools. */
const isDamagedReplay = ({ args }: Step, { code, said }: Ended, powerCut: boolean): boolean =>
  powerCut && args[0] === 'replay' && code === 2 && said.includes('error[replay-damaged]');

/** What differs from the undisturbed commands; `runs` are compared besides the first one. */
async function unequal(
  { home }: Ground,
  { story, digest, operations }: Baseline,
  runs: readonly string[],
  powerCut: boolean,
): Promise<readonly string[]> {
  const found = await digestOfAll(home, { ...story, runs }).catch((error: unknown) => String(error));
  if (typeof found === 'string') return [found];
  const missing = (story.runs ?? []).filter((run) => !runs.includes(run));
  const expected = Object.entries(digest).filter(([name]) => !missing.includes(name.split(' ')[0] ?? ''));
  // A power cut may take artifacts; the output of a nested run has its hashes and times.
  const mayDiffer = powerCut || Object.keys(operations).some((who) => who.startsWith('tool'));
  return differences(Object.fromEntries(expected), found).filter(
    (one) => !mayDiffer || !/^(\S+ )?artifact /.test(one),
  );
}

/** Whether only artifacts are not as they were: a power cut may take those of the last second. */
const isLoss = (said: string): boolean => {
  const problems = said
    .split('\n')
    .filter((line) => /^ {2}(?:changed|missing|added|unreadable|contradiction) /.test(line));
  const lost = /^ {2}(?:changed|missing|added) +(?:\S+: (?:what )?visit \d+ of|\S+\/stage\.json: it names)/;
  return problems.length > 0 && problems.every((line) => lost.test(line));
};

type Disturbed = {
  readonly fired: string | undefined;
  /** The last of the commands that were needed. */
  readonly ended: Ended;
  /** The fault was reported, and killed no process. */
  readonly failed: boolean;
  readonly disturbances: number;
  readonly powerCut: boolean;
  readonly wrong: string[];
  /** The output of each command. */
  readonly story: string[];
};

/** Runs a command with its fault, and again until it ends like the undisturbed one. */
async function disturbed(at: Ground, step: Step, point: Point, seed: number): Promise<Disturbed> {
  const { kind, k, action } = point;
  const [whom] = placeOf(point.who);
  let ended = await at.factory(step.args, `${whom}:${kind}:${k}:${action}`, seed);
  const fired = await at.fired();
  const wrong: string[] = [];
  const story = [ended.said];
  // Each may repeat one execution.
  let disturbances = fired === undefined ? 0 : 1;
  const failed = fired !== undefined && ended.signal === null;
  const runs = step.makes === 'r1';
  const reached = async () =>
    (step.code !== 1 && ended.code === step.code) || (runs && (await reachedExit(at)));
  if (failed && !(await reached())) wrong.push(...honest(ended, at, step));
  if (fired === undefined && ended.code !== step.code) wrong.push(`undisturbed, it ended with ${ended.code}`);
  const chance = random(seed ^ 0x5eed);
  let again = chance() < 0.35;
  let powerCut = action === 'power';
  // A run that cannot write its result reports that, and has to be resumed as well.
  const goesOn = async () => !(await reached()) || (failed && ended.code !== step.code);
  for (let tries = 0; ended.signal !== null || (tries === 0 && (await goesOn())); tries++) {
    if (tries > 5) {
      wrong.push('it does not come to its end');
      break;
    }
    const how = chance() < 0.5 ? 'kill' : 'power';
    const second = again ? `engine:any:${1 + Math.floor(chance() * 300)}:${how}` : '';
    powerCut ||= again && how === 'power';
    again = false;
    if (!existsSync(at.runDir)) wrong.push(...(await nothingListed(at)));
    const made =
      step.makes !== undefined && existsSync(join(dirname(at.runDir), step.makes, 'manifest.json'));
    ended = await at.factory(made ? resume(step.makes) : step.args, second, seed + tries + 1);
    story.push(ended.said);
    if ((await at.fired()) !== undefined) disturbances++;
    // A process that is known only by its end: factory does not wait for a program that refuses.
    if (ended.code === 2) break;
  }
  return { fired, ended, failed, disturbances, powerCut, wrong, story };
}

/** Whether the run has ended at an exit with a result. */
const reachedExit = async (at: Ground): Promise<boolean> => {
  if (!existsSync(join(at.runDir, 'result.json'))) return false;
  const text = await readFile(join(at.runDir, 'checkpoint.json'), 'utf8').catch(() => '{}');
  const ended: unknown = Object.entries(JSON.parse(text)).find(([key]) => key === 'ended')?.[1];
  return typeof ended === 'object' && ended !== null && 'exit_node' in ended && ended.exit_node !== null;
};

/** A run that could not continue reports why, names the file and the fix; and its checkpoint can be read. */
function honest(ended: Ended, at: Ground, { makes = 'r1' }: Step): string[] {
  const wrong: string[] = [];
  const isFull = ended.said.includes('no space is left on the disk');
  const stops = isFull ? [1, 75] : [1, 70];
  if (ended.code === 2 ? existsSync(join(dirname(at.runDir), makes)) : !stops.includes(ended.code ?? 0))
    wrong.push(`a failed operation ended it with ${ended.code}`);
  if (/^\s+at .*[:(]/m.test(ended.said)) wrong.push('it shows a stack');
  if (!ended.said.includes(at.home) && !/\bcannot (?:be )?start/.test(ended.said))
    wrong.push('it names neither a file nor the program that was not started');
  if (!/fix:|resume/.test(ended.said)) wrong.push('it does not say what to do');
  return wrong;
}

async function nothingListed(at: Ground): Promise<string[]> {
  const listed = await at.factory(['runs', '--json'], '', 1);
  return listed.code === 0 && JSON.parse(listed.said).runs.length === 0 ? [] : [`runs lists: ${listed.said}`];
}

async function wrongRoute(at: Ground, base: Baseline): Promise<string[]> {
  const { began, ended, repeated } = await routeOf(at.runDir);
  const wrong: string[] = [];
  if (repeated.length > 0)
    wrong.push(`events told the end of ${repeated.join(', ')} before it was committed`);
  const missing = base.route.filter((visit) => !began.includes(visit));
  const inOrder = base.route.filter((visit) => began.includes(visit));
  if (inOrder.join(' ') !== began.join(' '))
    wrong.push(`route ${base.route.join(' ')} -> ${began.join(' ')}`);
  if (missing.length > 0) wrong.push(`events tell nothing of ${missing.join(', ')}`);
  const untold = base.route.filter((visit) => !ended.includes(visit));
  if (untold.length > 0) wrong.push(`events do not tell the end of ${untold.join(', ')}`);
  return wrong;
}

/** Each effect at least once, and at most once more for each interrupted execution. */
function wrongLedger(expected: readonly string[], found: readonly string[], disturbances: number): string[] {
  const count = (lines: readonly string[], line: string) => lines.filter((one) => one === line).length;
  const wrong: string[] = [];
  const twice = new Set<string>();
  for (const line of new Set([...expected, ...found])) {
    const extra = count(found, line) - count(expected, line);
    if (extra < 0) wrong.push(`the effect of ${line} is missing`);
    if (extra > disturbances) wrong.push(`the effect of ${line} is there ${extra} times more`);
    if (extra > 0) twice.add(line.split(' ').slice(0, 2).join('@'));
  }
  if (twice.size > disturbances) wrong.push(`made again: ${[...twice].join(', ')}`);
  return wrong;
}

async function untidy(at: Ground, all = true): Promise<string[]> {
  const wrong: string[] = [];
  const left = all ? await leftovers(at.home) : [];
  if (left.length > 0) wrong.push(`left behind: ${left.join(', ')}`);
  const alive = at.processes();
  if (alive.length > 0) wrong.push(`still running: ${alive.join(', ')}`);
  const runs = await readFile(join(at.runDir, 'checkpoint.json'), 'utf8').catch(() => '');
  try {
    JSON.parse(runs);
  } catch {
    wrong.push('the checkpoint cannot be read');
  }
  return wrong;
}
