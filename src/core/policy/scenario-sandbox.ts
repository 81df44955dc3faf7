/** What a scenario's phase and the product that it starts may read, write and reach. Pure. */
import { dirname } from 'node:path';
import { type Bind, type Confinement, systemFolders } from '../contracts/sandbox.ts';
import { bindOf, defaultLimits, homeOf, toolchain } from './confinement.ts';

/** Places of the machine. Absolute. */
export type Machine = {
  /** Folders of PATH. */
  readonly path: readonly string[];
  readonly home: string | undefined;
  /** The Node executable that runs this program. */
  readonly node: string;
  readonly certificates: readonly string[];
  /** Folders of toolchains that the environment names. */
  readonly toolchains: readonly string[];
  /** What is shown besides, as in `sandbox_bind`. */
  readonly bind: readonly string[];
  /** Folders of holdout files, whatever shows the folders around them. */
  readonly judge: readonly string[];
};

/** A sandbox that shows the system, the toolchains of PATH and `inside`, with a private home and `/tmp` in `scratch`. `entering` leads
 *  to the network of the scenario, in which it reaches the product's servers on loopback; without it, it has this process's. */
export function confineScenario(
  machine: Machine,
  inside: readonly Bind[],
  { scratch, entering }: { readonly scratch: string; readonly entering?: readonly string[] | undefined },
): Confinement {
  const { home, path, node, certificates, toolchains, bind, judge } = machine;
  const tools = [...new Set([...path, dirname(node)].flatMap((folder) => toolchain(folder, home)))];
  const binds: Bind[] = [
    ...[...tools, ...toolchains, ...certificates].map((place) => ({ path: place, write: false })),
    ...bind.map((word) => bindOf(word, home)),
  ];
  const shown = [...systemFolders, ...binds.map((one) => one.path)];
  return {
    rung: 'bwrap',
    network: true,
    ...(entering === undefined ? {} : { entering }),
    limits: defaultLimits,
    binds,
    masks: judge.filter((place) => shown.some((one) => place === one || place.startsWith(`${one}/`))),
    inside,
    home: homeOf(home),
    scratch,
    covers: [],
    pinned: [],
  };
}
