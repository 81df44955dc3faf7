import type { readPipeline } from '../app/read-pipeline.ts';
import type { Bounds, Host, RunFlags } from '../app/types.ts';
import type { Spawn } from '../core/contracts/process.ts';
import type { SandboxWord } from '../core/policy/confinement.ts';
import type { CliIo } from './io.ts';
import { fewOfEach } from './report/diagnostics.ts';
import type { View, ViewIo, ViewOptions } from './report/live.ts';

export type OrderRunIo = ViewIo & {
  readonly spawn: Spawn;
  readonly signal: () => AbortSignal;
  readonly ownSteps?: Host['ownSteps'];
};

/** Flags that bound what a run may do; every command that begins one has them. */
export type BoundOptions = {
  readonly maxCostUsd?: number;
  readonly maxTokens?: number;
  readonly unknownCost?: 'stop' | 'allow';
  readonly prices?: string;
  /** Milliseconds. */
  readonly parkAfter?: number;
  readonly maxOutage?: number;
  readonly sandbox?: SandboxWord;
  readonly envPass?: readonly string[];
  readonly wait?: boolean;
  readonly now?: boolean;
};

/** Flags of the commands that run the nodes of a pipeline. */
export type RunOptions = ViewOptions &
  BoundOptions & {
    readonly workdir?: string;
    readonly runsdir?: string;
    readonly runId?: string;
    readonly resume?: boolean;
    readonly var?: Readonly<Record<string, string>>;
    readonly agent?: string;
    readonly model?: string;
    readonly effort?: string;
    readonly script?: string;
    readonly allowDirty?: boolean;
    readonly holdout?: string;
    readonly strict?: boolean;
    readonly acceptChanges?: boolean;
    readonly takeOver?: boolean;
    readonly live?: boolean;
    readonly notify?: string;
    readonly maxSteps?: number;
    readonly maxVisits?: number;
    /** Milliseconds. */
    readonly maxWall?: number;
    readonly json?: boolean;
  };

export type RunDoors = ViewIo &
  Pick<CliIo, 'signal'> &
  Partial<Pick<CliIo, 'parting' | 'begun' | 'atLast' | 'ownSteps'>>;

/** Prints what may be wrong with a pipeline that can run. */
export function warnOf(
  { found, text }: Pick<Awaited<ReturnType<typeof readPipeline>>, 'found' | 'text'>,
  io: Pick<RunDoors, 'errIsTerminal'>,
  view: View,
): void {
  const warnings = found.filter((one) => one.severity === 'warning');
  const { told, more } = fewOfEach(warnings, io.errIsTerminal);
  for (const warning of told) view.warn(warning, text);
  for (const line of more) view.log('warn', line);
}

/** `target`: that of `--notify`. */
export const hostOf = (io: RunDoors, view: View, target?: string): Host => {
  const { log, watcher } = view;
  const doors = {
    ...given(io, ['cwd', 'env', 'clock', 'called', 'parting', 'begun', 'atLast', 'ownSteps']),
    ...{ signal: io.signal(), watcher, log },
  };
  if (target === undefined) return doors;
  const notify: Host['notify'] = async (runDir, left) =>
    (await import('../app/run/notify.ts')).notify(target, runDir, left, doors);
  return { ...doors, notify };
};

export const boundNames = [
  'maxCostUsd',
  'maxTokens',
  'unknownCost',
  'prices',
  'parkAfter',
  'maxOutage',
  'sandbox',
  'envPass',
  'wait',
  'now',
] as const satisfies readonly (keyof BoundOptions)[];

/** The flags about money, tokens, confinement and waiting. */
export const boundsOf = ({ parkAfter, maxOutage, ...options }: BoundOptions): Bounds => ({
  ...given(options, [
    ...(['maxCostUsd', 'maxTokens', 'unknownCost', 'prices', 'sandbox', 'envPass', 'wait', 'now'] as const),
  ]),
  ...(parkAfter === undefined ? {} : { parkAfterMs: parkAfter }),
  ...(maxOutage === undefined ? {} : { maxOutageMs: maxOutage }),
});

export const flagsOf = (options: RunOptions): RunFlags => ({
  ...boundsOf(options),
  ...given(options, ['workdir', 'holdout', 'agent', 'model', 'effort', 'script', 'takeOver', 'live']),
  ...given(options, ['maxSteps', 'maxVisits']),
  vars: options.var ?? {},
  envPass: options.envPass ?? [],
  allowDirty: options.allowDirty === true,
  acceptChanges: options.acceptChanges === true,
  ...(options.maxWall === undefined ? {} : { maxWallMs: options.maxWall }),
});

/** Those of the named properties that are set. */
function given<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  const set = names.filter((name) => from[name] !== undefined);
  return Object.fromEntries(set.map((name) => [name, from[name]])) as Pick<T, K>;
}
