/** The limits of a run: those of its flags, else those of its graph. */
import type { Graph } from '../core/graph.ts';
import type { Manifest } from '../core/records/manifest.ts';
import {
  type Caps,
  type LimitFlags,
  type LimitName,
  limitNames,
  limitRecorded,
  recordedName,
  runLimits,
} from '../core/settings/limits.ts';
import type { AttributeSpec } from '../core/settings/types.ts';
import { sourceOf } from '../core/settings/typing.ts';

type Flags = LimitFlags & Pick<Caps, 'park_passing'>;
type Limit = {
  readonly name: LimitName;
  readonly value: unknown;
  readonly origin: 'flag' | 'graph' | 'default';
};

/** Of a run with the manifest `before`, limits that a flag has set stay; those of its graph follow the current graph. */
function eachLimit(flags: Flags, { settings }: Pick<Graph, 'settings'>, before?: Manifest): readonly Limit[] {
  return limitNames.map((name): Limit => {
    if (flags[name] !== undefined) return { name, value: flags[name], origin: 'flag' };
    if (before?.origins?.[name] === 'flag')
      return { name, value: limitRecorded(before.caps, name), origin: 'flag' };
    const value = (settings as { readonly [name in LimitName]?: unknown })[name];
    return { name, value, origin: sourceOf(settings, name) === 'graph' ? 'graph' : 'default' };
  });
}

/** The limits of a run that starts, or that continues after `before`. */
export const limitsOf = (flags: Flags, graph: Pick<Graph, 'settings'>, before?: Manifest): Caps => ({
  ...(Object.fromEntries(eachLimit(flags, graph, before).map(({ name, value }) => [name, value])) as Caps),
  park_passing: flags.park_passing,
});

/** The same for the manifest. */
export function limitsForManifest(
  flags: Flags,
  graph: Pick<Graph, 'settings'>,
  before?: Manifest,
): Pick<Manifest, 'caps' | 'origins'> {
  const isRecorded = ({ name, origin }: Limit): boolean => {
    const { recordedIfSet }: AttributeSpec = runLimits[name];
    return recordedIfSet !== true || origin !== 'default';
  };
  const limits = eachLimit(flags, graph, before).filter(isRecorded);
  return {
    caps: Object.fromEntries(
      limits.map(({ name, value }) => [recordedName(name), (value as number | string | undefined) ?? null]),
    ),
    origins: Object.fromEntries(limits.map(({ name, origin }) => [name, origin])),
  };
}
