import type { readPipeline } from '../app/read-pipeline.ts';
import type { Bounds, Host, RunFlags } from '../app/types.ts';
import type { Spawn } from '../core/contracts/process.ts';
import { limitNames } from '../core/settings/limits.ts';
import { type SettingFlags, settingNames } from '../core/settings/run.ts';
import { type CliIo, paints } from './io.ts';
import { fewOfEach } from './report/diagnostics.ts';
import type { View, ViewIo, ViewOptions } from './report/live.ts';

export type OrderRunIo = ViewIo & {
  readonly spawn: Spawn;
  readonly signal: () => AbortSignal;
  readonly ownSteps?: Host['ownSteps'];
};

/** Flags of the commands that run the nodes of a pipeline. */
export type RunOptions = ViewOptions &
  SettingFlags & {
    readonly wait?: boolean;
    readonly now?: boolean;
    readonly runsdir?: string;
    readonly runId?: string;
    readonly resume?: boolean;
    readonly var?: Readonly<Record<string, string>>;
    readonly allowDirty?: boolean;
    readonly base?: string;
    readonly holdoutOf?: string;
    readonly strict?: boolean;
    readonly acceptChanges?: boolean;
    readonly takeOver?: boolean;
    readonly live?: boolean;
    readonly notify?: string;
    readonly json?: boolean;
  };

export type RunHost = ViewIo &
  Pick<CliIo, 'signal'> &
  Partial<Pick<CliIo, 'parting' | 'onBegin' | 'atLast' | 'ownSteps' | 'terminal'>>;

/** Prints what may be wrong with a pipeline that can run. */
export function warnOf(
  { found, textOf }: Pick<Awaited<ReturnType<typeof readPipeline>>, 'found' | 'textOf'>,
  io: Pick<RunHost, 'errIsTerminal'>,
  view: View,
): void {
  const warnings = found.filter((one) => one.severity === 'warning');
  const { shown, more } = fewOfEach(warnings, io.errIsTerminal);
  for (const warning of shown) view.warn(warning, warning.place && textOf(warning.place.file));
  for (const line of more) view.log('warn', line);
}

/** The process as a run sees it: with `--notify`, and a terminal where a person can be asked. */
export const hostOf = (
  io: RunHost,
  view: View,
  options: Pick<RunOptions, 'notify' | 'json' | 'color' | 'wait'> = {},
): Host => {
  const { log, watcher } = view;
  const host = {
    ...given(io, ['cwd', 'env', 'clock', 'called', 'parting', 'onBegin', 'atLast', 'ownSteps']),
    ...{ signal: io.signal(), watcher, log },
    ...(options.json === true || view.isJson ? {} : asking(io, view, options)),
  };
  const { notify: target } = options;
  if (target === undefined) return host;
  const notify: Host['notify'] = async (runDir, left) =>
    (await import('../app/run/notify.ts')).notify(target, runDir, left, host);
  return { ...host, notify };
};

/** Questions of the run are asked on the terminal, if there is one; what is drawn there steps aside. */
function asking(
  io: RunHost,
  view: View,
  { color, wait }: Pick<RunOptions, 'color' | 'wait'>,
): Pick<Host, 'ask'> {
  const { terminal } = io;
  if (terminal === undefined) return {};
  return {
    async ask(question, signal) {
      view.clear();
      const { askOnTerminal } = await import('./ask.ts');
      const colour = paints(io, io.errIsTerminal, color);
      const given = await askOnTerminal(question, terminal, { io, colour, signal });
      if (given === undefined && wait === true && !signal.aborted)
        io.err('waiting for an answer from elsewhere; Ctrl-C ends the wait\n');
      return given;
    },
  };
}

export const boundNames = [...limitNames, 'prices', 'sandbox', 'env_pass', 'wait', 'now'] as const;

/** The flags about money, tokens, confinement and waiting. */
export const boundsOf = (options: Bounds): Bounds => given(options, boundNames);

export const flagsOf = (options: RunOptions): RunFlags => ({
  ...given(options, [...settingNames, 'wait', 'now', 'takeOver', 'live']),
  vars: options.var ?? {},
  allowDirty: options.allowDirty === true,
  ...(options.base === undefined ? {} : { base: options.base, exact: true }),
  ...(options.holdoutOf === undefined ? {} : { holdout_of: options.holdoutOf }),
  acceptChanges: options.acceptChanges === true,
});

/** Those of the named properties that are set. */
function given<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  const set = names.filter((name) => from[name] !== undefined);
  return Object.fromEntries(set.map((name) => [name, from[name]])) as Pick<T, K>;
}
