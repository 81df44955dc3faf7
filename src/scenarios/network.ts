/** Which network a scenario and its product have: a private one, or the machine's. */
import type { Loopback, NetworkAttempts } from '../platform/sandbox/loopback.ts';
import type { Needs } from './discover.ts';
import type { PhaseHost } from './launch/product.ts';

export type ScenarioNetwork = {
  readonly held: 'private' | 'machine';
  /** What that means, as a sentence. */
  readonly note: string;
  /** The private one. */
  readonly loopback: Loopback | undefined;
  /** Why there is none, so that the scenario cannot run. */
  readonly problem?: string;
};

/** The network of a scenario that was not run. */
export const noNetworkMade: ScenarioNetwork = {
  held: 'machine',
  note: 'no network was made',
  loopback: undefined,
};

/** Why a scenario has the network of this machine; undefined if it gets a private one. Those that have it can disturb each other. */
export function whyShared({ hosts }: Pick<Needs, 'hosts'>, { sandbox }: Pick<PhaseHost, 'sandbox'>) {
  if (sandbox === undefined) return 'there is no sandbox';
  if (hosts.length > 0) return 'it declares requires-network';
  return sandbox.openNetwork === undefined ? `no private one works here: ${sandbox.noNetwork}` : undefined;
}

/** Makes the network of a scenario; the caller closes it. */
export async function openNetworkFor(needs: Needs, host: PhaseHost): Promise<ScenarioNetwork> {
  const why = whyShared(needs, host);
  if (why !== undefined)
    return { held: 'machine', note: `it had the network of this machine: ${why}`, loopback: undefined };
  const loopback = await host.sandbox?.openNetwork?.();
  if (loopback === undefined || 'missing' in loopback)
    return { ...noNetworkMade, problem: `its network could not be made: ${loopback?.missing}` };
  return { held: 'private', note: 'it had a private loopback, which only its product shared', loopback };
}

/** What a scenario that failed in a private network should declare, by what the kernel counted; undefined if it tried to reach
 *  nothing else. */
export function missingDeclaration({ outside, refused }: NetworkAttempts): string | undefined {
  if (outside > 0)
    return 'a program tried to leave its private network: a scenario that needs another host declares `requires-network: HOST[:PORT]`';
  if (refused > 0)
    return 'a connection was refused on its private loopback: a scenario that needs a server of this machine declares `requires-network: localhost:PORT`';
  return undefined;
}
