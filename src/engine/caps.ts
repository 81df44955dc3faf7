/** The limits that end a run which would go on for ever. They count across resumes. */

export type Caps = {
  readonly maxSteps: number;
  /** In place of what nodes and graph say. */
  readonly maxVisits?: number;
  /** Milliseconds of running time; undefined for none. */
  readonly maxWallMs: number | undefined;
  /** Milliseconds for each command of a verification and each model call; undefined for the stage's own. */
  readonly commandTimeoutMs?: number | undefined;
};

export const defaultCaps = { maxSteps: 10_000, maxVisits: 50 } as const;

/** Why the run may not make one more visit of `node`, or undefined when it may. */
export function capHit(
  caps: Caps,
  node: { readonly id: string; readonly maxVisits: number; readonly visits: number },
  run: { readonly steps: number; readonly elapsedMs: number },
): string | undefined {
  if (node.visits >= node.maxVisits) {
    return `max_visits: node "${node.id}" was visited ${node.visits} times, and its limit is ${node.maxVisits} (max_visits on the node, default_max_visits on the graph, --max-visits)`;
  }
  if (run.steps >= caps.maxSteps) {
    return `max_steps: the run made ${run.steps} steps, and its limit is ${caps.maxSteps} (max_steps on the graph, --max-steps)`;
  }
  if (caps.maxWallMs !== undefined && run.elapsedMs >= caps.maxWallMs) {
    return `max_wall: the run took ${Math.round(run.elapsedMs / 1000)}s, and its limit is ${Math.round(caps.maxWallMs / 1000)}s (max_wall on the graph, --max-wall)`;
  }
  return undefined;
}
