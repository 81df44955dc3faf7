/** The product's sandbox of one phase: a broker that starts programs of the product in it. */
import { join } from 'node:path';
import type { Clock } from '../../core/contracts/clock.ts';
import type { Environment, Exit, Spawn } from '../../core/contracts/process.ts';
import type { Bind, Confinement } from '../../core/contracts/sandbox.ts';
import { readSome } from '../../platform/files/read.ts';
import type { Reach } from '../../platform/network.ts';
import type { Program } from '../../platform/process/table.ts';
import type { Loopback } from '../../platform/sandbox/loopback.ts';

export type Product = {
  /** Why it could not be started. */
  readonly problem?: string;
  /** Whether it ended by itself: the product ended its broker. */
  hasEnded(): boolean;
  /** Whether a program of the product is running; undefined if that cannot be determined. */
  isRunning(): boolean | undefined;
  /** Ends all of its processes. */
  stop(): Promise<void>;
};

type ProductRequest = {
  /** Node and the broker's file. */
  readonly argv: readonly [string, string];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Folder for the broker's own output. */
  readonly outputs: string;
  readonly confinement: Confinement;
};

/** Starts the sandbox, and settles when its broker accepts connections. */
export async function startProduct(request: ProductRequest, host: PhaseHost): Promise<Product> {
  const { argv, env, outputs } = request;
  const stop = new AbortController();
  let group: number | undefined;
  let ended: Exit | undefined;
  let isReady = () => {};
  const ready = new Promise<void>((resolve) => {
    isReady = resolve;
  });
  const stderrFile = join(outputs, 'broker.stderr');
  const run = host.spawn
    .run({
      argv,
      cwd: request.cwd,
      env,
      marker: `SCENARIO_RUN_ID=${env['SCENARIO_RUN_ID']}`,
      stdoutFile: join(outputs, 'broker.stdout'),
      stderrFile,
      mostBytes: 64 * 1024,
      onStdout: () => isReady(),
      // Nothing of it is needed any more.
      graceMs: 0,
      signal: stop.signal,
      confinement: request.confinement,
      started: ({ pid }) => {
        group = pid;
      },
    })
    .then((exit) => {
      ended = exit;
      return exit;
    });
  const first = await Promise.race([ready, run]);
  const problem =
    first === undefined ? undefined : await whyEnded(first, (await readSome(stderrFile, 2048, 'tail')) ?? '');
  return {
    ...(problem === undefined ? {} : { problem }),
    hasEnded: () => ended !== undefined,
    isRunning: () => {
      const programs = group === undefined ? undefined : host.programsOf(group);
      return programs?.some(
        ({ args }) =>
          !args.includes(argv[1]) && !['bwrap', 'mkfifo'].includes(args[0]?.split('/').at(-1) ?? ''),
      );
    },
    async stop() {
      stop.abort();
      await run;
    },
  };
}

function whyEnded(ended: Exit, stderr: string): string {
  const message = stderr.trim().split('\n').at(-1) ?? '';
  return ended.kind === 'not_found' ? ended.why : message || `it ended (${ended.kind})`;
}

export type ScenarioSandbox = {
  /** A sandbox that shows `inside`, with private folders in `scratch`, in the network that `entering` leads to. */
  readonly confine: (
    inside: readonly Bind[],
    places: { readonly scratch: string; readonly entering?: readonly string[] | undefined },
  ) => Confinement;
  /** Makes the network of a scenario; without it scenarios have the machine's, for the reason `noNetwork`. */
  readonly openNetwork?: () => Promise<Loopback | { readonly missing: string }>;
  readonly noNetwork?: string;
  /** The Node executable that runs this program. */
  readonly node: string;
};

/** The system as scenarios need it. */
export type PhaseHost = {
  readonly spawn: Spawn;
  readonly clock: Clock;
  readonly reach: Reach;
  readonly programsOf: (group: number) => readonly Program[] | undefined;
  readonly env: Environment;
  readonly signal: AbortSignal;
  /** What makes sandboxes here; without it all programs run as this user, for the reason `noSandbox`. */
  readonly sandbox?: ScenarioSandbox;
  readonly noSandbox?: string;
  /** Copies the product without `.git` and the `exclude`d absolute paths. */
  readonly copyProduct: (from: string, to: string, exclude: readonly string[]) => Promise<unknown>;
};
