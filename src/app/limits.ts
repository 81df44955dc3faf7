/** The limits of a run: those of its flags, else those of its graph. */
import { type Caps, spendCapsOf } from '../core/budget/limits.ts';
import type { Graph } from '../core/graph.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { storedGraph } from './read-pipeline.ts';
import type { RunFlags } from './types.ts';

/** Flags count before `otherwise`. */
export function limitsWith(flags: RunFlags, otherwise: Caps): Caps {
  const maxVisits = flags.maxVisits ?? otherwise.maxVisits;
  return {
    maxSteps: flags.maxSteps ?? otherwise.maxSteps,
    maxWallMs: flags.maxWallMs ?? otherwise.maxWallMs,
    ...(maxVisits === undefined ? {} : { maxVisits }),
    commandTimeoutMs: flags.commandTimeoutMs ?? otherwise.commandTimeoutMs,
    maxCostUsd: flags.maxCostUsd ?? otherwise.maxCostUsd,
    maxTokens: flags.maxTokens ?? otherwise.maxTokens,
    unknownCost: flags.unknownCost ?? otherwise.unknownCost,
    parkAfterMs: flags.parkAfterMs ?? otherwise.parkAfterMs,
    parkPassing: flags.parkPassing,
    maxOutageMs: flags.maxOutageMs ?? otherwise.maxOutageMs,
  };
}

export const limitsOfGraph = ({ settings }: Pick<Graph, 'settings'>): Caps => ({
  maxSteps: settings.max_steps,
  maxWallMs: settings.max_wall,
  maxCostUsd: settings.max_cost_usd,
  maxTokens: settings.max_tokens,
  unknownCost: settings.unknown_cost,
  parkAfterMs: settings.park_after,
  maxOutageMs: settings.max_outage,
});

/** The limits of a run that goes on: those that the graph set follow the current graph; those that a flag set stay. */
export function limitsNow(manifest: Manifest, current: Graph): Caps {
  const { caps } = manifest;
  const now = limitsOfGraph(current);
  const before = current.text === manifest.pipeline.text ? undefined : storedGraph(manifest);
  const was = before === undefined ? now : limitsOfGraph(before);
  const of = <T>(kept: T, before: T, is: T): T => (kept === before ? is : kept);
  return {
    maxSteps: of(caps.max_steps, was.maxSteps, now.maxSteps),
    maxWallMs: of(caps.max_wall_ms ?? undefined, was.maxWallMs, now.maxWallMs),
    ...(caps.max_visits === undefined ? {} : { maxVisits: caps.max_visits }),
    commandTimeoutMs: caps.command_timeout_ms,
    maxCostUsd: of(caps.max_cost_usd, was.maxCostUsd, now.maxCostUsd),
    maxTokens: of(caps.max_tokens, was.maxTokens, now.maxTokens),
    unknownCost: of(caps.unknown_cost, was.unknownCost, now.unknownCost),
    parkAfterMs: of(caps.park_after_ms, was.parkAfterMs, now.parkAfterMs),
    maxOutageMs: of(caps.max_outage_ms, was.maxOutageMs, now.maxOutageMs),
  };
}

/** The limits as the manifest has them. */
export const limitsForManifest = (caps: Caps): Manifest['caps'] => ({
  max_steps: caps.maxSteps,
  max_wall_ms: caps.maxWallMs ?? null,
  ...(caps.maxVisits === undefined ? {} : { max_visits: caps.maxVisits }),
  ...(caps.commandTimeoutMs === undefined ? {} : { command_timeout_ms: caps.commandTimeoutMs }),
  ...spendCapsOf(caps),
});
