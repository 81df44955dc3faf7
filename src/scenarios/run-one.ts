/** Runs one scenario against one product: first its selftest, then live, in private copies of both. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { removeTree } from '../platform/files/remove.ts';
import type { Phase, ScenarioVerdict } from './classify.ts';
import { isComponentCheck, knowsModes, type Needs, needsOf, type Scenario, syntaxCheck } from './discover.ts';
import type { NullProduct } from './floor/null-products.ts';
import { placeProduct, type ShownFiles } from './floor/shown-files.ts';
import type { PhaseHost } from './launch/product.ts';
import { noNetworkMade, openNetworkFor, type ScenarioNetwork } from './network.ts';
import { problemOfEnd, withOwnEnd } from './own-end.ts';
import { type OwnFiles, ownFiles } from './own-files.ts';
import { firstUnreachable, type PhaseEnd, runPhase } from './phase.ts';
import {
  type Bare,
  doubted,
  failedScenario,
  isolated,
  lacking,
  meddled,
  passedScenario,
  type ScenarioExecution,
  skippedScenario,
} from './result.ts';
import {
  isMarked,
  markText,
  openSite,
  type ProductMount,
  type ScenarioSite,
  scenarioEnvironment,
} from './sites.ts';
import { copyOfSource, type ProductCopy, siblingRooms } from './source.ts';
import { helpersOf, type ScriptFile } from './starts.ts';

export type JudgeOptions = {
  /** Absolute. */
  readonly app: string;
  /** `selftest` leaves the product alone. */
  readonly mode: 'selftest' | 'live';
  /** Whether live is run at all; without it, a scenario is `skipped` after its selftest. */
  readonly live: boolean;
  readonly timeoutMs: number;
  /** Only live, for a scenario that has passed: with another product, or with one that does nothing. */
  readonly shown?: ShownProduct;
};

export type ShownProduct = {
  /** What answers in its place; without it, the programs in `app` are started. */
  readonly nullProduct?: NullProduct;
  readonly files: ShownFiles;
  /** Folders that are shown read-only instead of being copied; only in a sandbox. */
  readonly mounts?: readonly ProductMount[];
};

/** Runs a scenario once, in a separate folder below `room` that is removed afterwards. */
export async function judgeOnce(
  scenario: Scenario,
  options: JudgeOptions,
  host: PhaseHost,
  { room, source }: { readonly room: string; readonly source: ProductCopy },
): Promise<ScenarioExecution> {
  // Names that no product can know from another run.
  const base = join(room, word());
  await mkdir(base);
  try {
    // Separate folders: a product may create files next to itself, but no program may do so next to the scenarios.
    const [judge, product] = [join(base, `judge-${word()}`), join(base, 'product')];
    const [app, folder, outputs] = [join(product, 'app'), join(judge, 'scenarios'), join(base, 'out')];
    for (const made of [judge, product, outputs, join(base, 'run')]) await mkdir(made);
    if ((await copyOfSource(source, folder)) === undefined)
      return isolated(meddled(options.mode), host, { network: noNetworkMade, isLaunched: false, files: [] });
    const own = ownFiles(folder, source.folder, [base, judge]);
    const excluded = await nextToProduct(scenario, options, room);
    await placeProduct(() => host.copyProduct(options.app, app, excluded), app, options.shown?.files);
    const judged = await inNetwork(scenario, options, host, { app, folder, outputs, base }, own);
    // The temporary folder does not exist when this is read: shows `app/bin/x` instead of the full path.
    const shorter = (text: string): string =>
      [judge, product, base].reduce((shortened, place) => shortened.replaceAll(`${place}/`, ''), text);
    const { stdout, stderr } = judged.output;
    const evidence = { ...judged.evidence, why: shorter(judged.evidence.why) };
    return { ...judged, evidence, output: { stdout: shorter(stdout), stderr: shorter(stderr) } };
  } finally {
    await removeTree(base);
  }
}

const word = (): string => randomBytes(8).toString('hex');

/** What is not copied with the product: the engine's folder, the scenarios, and folders of other runs of scenarios. */
async function nextToProduct({ folder }: Scenario, { app }: JudgeOptions, room: string): Promise<string[]> {
  return [join(app, '.factory'), folder, ...(await siblingRooms(room))];
}

type Room = Readonly<Record<'app' | 'folder' | 'outputs' | 'base', string>>;

/** Runs all phases in one network. */
async function inNetwork(
  scenario: Scenario,
  options: JudgeOptions,
  host: PhaseHost,
  room: Room,
  own: OwnFiles,
): Promise<ScenarioExecution> {
  const needs = needsOf(await readFile(join(room.folder, scenario.name), 'utf8'));
  const network = await openNetworkFor(needs, host);
  try {
    return network.problem === undefined
      ? await phases(scenario, options, host, { ...room, network }, own)
      : isolated(lacking(network.problem), host, { network, isLaunched: false, files: [] });
  } finally {
    network.loopback?.close();
  }
}

async function phases(
  scenario: Scenario,
  options: JudgeOptions,
  host: PhaseHost,
  { network, ...room }: Room & { readonly network: ScenarioNetwork },
  own: OwnFiles,
): Promise<ScenarioExecution> {
  const script = join(room.folder, scenario.name);
  const text = await readFile(script, 'utf8');
  const needs = needsOf(text);
  const files = await helpersOf(room.folder, scenario.name);
  const launches = files.some((file) => file.text.includes('APP_RUN'));
  const hidden = [scenario.folder, await realpath(scenario.folder), dirname(room.folder)];
  let isLaunched = false;
  let liveMs = 0;
  const run = async (phase: Phase, argv: Argv): Promise<PhaseEnd> => {
    const id = randomBytes(8).toString('hex');
    const site = await openSite(
      {
        ...room,
        network: network.loopback,
        hidden,
        env: scenarioEnvironment(host.env, phase === 'live' ? 'live' : 'selftest', {
          live: options.live,
          id,
        }),
        id,
        launches: launches && phase !== 'syntax',
        nullProduct: options.shown?.nullProduct,
        mounts: options.shown?.mounts,
      },
      host,
    );
    try {
      const problem = site.product?.problem;
      if (problem !== undefined) return notStarted(phase, { script, app: room.app, why: problem });
      const began = host.clock.monotonic();
      const end = await inSite(phase, argv, site);
      if (phase === 'live') liveMs = host.clock.monotonic() - began;
      isLaunched ||= isMarked(site, 'launched');
      return end;
    } finally {
      await site.close();
    }
  };
  const inSite = async (phase: Phase, argv: Argv, site: ScenarioSite): Promise<PhaseEnd> => {
    const mark = join(site.marks, 'end');
    const { folder, app } = room;
    const seenEnd =
      phase === 'syntax'
        ? undefined
        : await withOwnEnd(argv, script, { tools: site.tools, folder, app, mark }, files);
    const end = await runPhase(
      {
        phase,
        argv: seenEnd?.argv ?? argv,
        script,
        app: room.app,
        env: { ...site.env, ...seenEnd?.env },
        site,
        marker: `SCENARIO_RUN_ID=${site.env['SCENARIO_RUN_ID']}`,
        outputs: room.outputs,
        timeoutMs: options.timeoutMs,
        needs,
      },
      host,
    );
    const trouble = problemOf(end, { site, phase, isEndSeen: seenEnd !== undefined, files });
    return trouble === undefined ? end : { ...end, trouble };
  };
  const judged = await inOrder(scenario, options, host, { script, text, needs, app: room.app, own, run });
  return isolated(judged, host, { network, isLaunched, files, liveMs });
}

type Argv = readonly [string, ...string[]];

type Ordered = {
  readonly script: string;
  readonly text: string;
  readonly needs: Needs;
  readonly app: string;
  readonly own: OwnFiles;
  readonly run: (phase: Phase, argv: Argv) => Promise<PhaseEnd>;
};

/** Syntax check, selftest and live, as far as each is needed. */
async function inOrder(
  scenario: Scenario,
  options: JudgeOptions,
  host: PhaseHost,
  it: Ordered,
): Promise<Bare> {
  const { script, text, needs, app, own, run } = it;
  const [program = script, ...before] = [...scenario.interpreter, script];
  const argv: Argv = [program, ...before, app];
  const early = options.shown === undefined ? await beforeLive(scenario, options, it, argv) : undefined;
  if (early !== undefined) return early;
  if (!options.live)
    return skippedScenario('live', 'live is off (REQUIRE_LIVE=0): the product was not tested');
  const missing = needs.variables.find((name) => (host.env[name] ?? '') === '');
  if (missing !== undefined)
    return lacking(`${missing} is not set (in a pipeline, pass it with env_pass="${missing}")`);
  const unreachable = await firstUnreachable(needs, host);
  if (unreachable !== undefined) return lacking(`${unreachable} cannot be reached`);
  own.begin();
  const live = await run('live', argv);
  if (live.seen !== undefined) return failedScenario('live', live, text);
  const changed = own.changed();
  if (changed.length > 0) return meddled('live', live, changed);
  return live.trouble === undefined ? passedScenario('live', live) : doubted('live', live, live.trouble);
}

/** Syntax check and selftest; the result if live is not run. */
async function beforeLive(
  scenario: Scenario,
  options: JudgeOptions,
  { script, text, run }: Ordered,
  argv: Argv,
): Promise<Bare | undefined> {
  const check = syntaxCheck(script);
  if (check !== undefined) {
    const checked = await run('syntax', check);
    // If the checker is missing, the next phase reports errors.
    if (checked.seen !== undefined && checked.ended.kind !== 'not_found')
      return failedScenario('selftest', checked);
  }
  const modes = !isComponentCheck(scenario.name) || knowsModes(text);
  if (modes) {
    const selftest = await run('selftest', argv);
    if (selftest.seen !== undefined) return failedScenario('selftest', selftest);
    if (selftest.trouble !== undefined) return doubted('selftest', selftest, selftest.trouble);
    if (options.mode === 'selftest') return passedScenario('selftest', selftest);
  }
  return !modes && options.mode === 'selftest'
    ? skippedScenario('selftest', 'it has no modes: it runs once, as live')
    : undefined;
}

/** The product's sandbox could not be made. */
function notStarted(
  phase: Phase,
  { script, app, why }: { readonly script: string; readonly app: string; readonly why: string },
): PhaseEnd {
  const program = 'the sandbox of the product';
  const ended = { kind: 'not_found', program, why, noRoom: true } as const;
  return { ended, stdout: '', stderr: '', seen: { phase, ended, stderr: '', script, app: [app] } };
}

/** Why exit code 0 is no success. */
function problemOf(
  { seen }: PhaseEnd,
  about: {
    readonly site: ScenarioSite;
    readonly phase: Phase;
    readonly isEndSeen: boolean;
    readonly files: readonly ScriptFile[];
  },
): ScenarioVerdict | undefined {
  const { site, phase, isEndSeen, files } = about;
  if (seen !== undefined) return undefined;
  if (isMarked(site, 'input-lost'))
    return {
      class: 'scenario',
      why: 'a program that "$APP_RUN" started left standard input of the script unread, so the rest of it was lost: add </dev/null to that call',
    };
  const link = markText(site, 'links');
  if (link !== undefined)
    return {
      class: 'product',
      why: `the product left a link through which the scenario would read its own files: ${link}`,
    };
  if (isMarked(site, 'gone') || site.product?.hasEnded() === true)
    return { class: 'product', why: 'the product ended its own sandbox (its broker was killed)' };
  return isEndSeen ? problemOfEnd(markText(site, 'end'), phase, files) : undefined;
}
