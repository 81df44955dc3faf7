/** How large the cases are. */

export type Sizes = {
  readonly nodes: number;
  readonly manyNodes: number;
  /** Files of the workspace over which `fileNodes` nodes run. */
  readonly files: number;
  readonly fileNodes: number;
  readonly copyFiles: number;
  readonly graphNodes: number;
  readonly atOnce: number;
  /** Nodes of each of the runs at once. */
  readonly atOnceNodes: number;
  /** Branches side by side, and the seconds that each sleeps. */
  readonly branches: number;
  readonly branchSleep: number;
  /** Runs in a list, and the milliseconds in which its server is watched. */
  readonly listRuns: number;
  readonly listMs: number;
  /** Of text, in a product with sealed scenarios. */
  readonly judgedMib: number;
  /** Clients that look at a run of `clientNodes` nodes. */
  readonly clients: number;
  readonly clientNodes: number;
};

export const fullSizes: Sizes = {
  nodes: 200,
  manyNodes: 10_000,
  files: 10_000,
  fileNodes: 20,
  copyFiles: 50_000,
  graphNodes: 1000,
  atOnce: 20,
  atOnceNodes: 20,
  branches: 20,
  branchSleep: 10,
  listRuns: 1000,
  listMs: 30_000,
  judgedMib: 100,
  clients: 100,
  clientNodes: 60,
};

/** Small enough to be run between two edits; its figures tell a trend, not whether a target is met. */
export const quickSizes: Sizes = {
  nodes: 50,
  manyNodes: 500,
  files: 1000,
  fileNodes: 10,
  copyFiles: 1000,
  graphNodes: 200,
  atOnce: 5,
  atOnceNodes: 20,
  branches: 5,
  branchSleep: 1,
  listRuns: 200,
  listMs: 15_000,
  judgedMib: 10,
  clients: 10,
  clientNodes: 15,
};
