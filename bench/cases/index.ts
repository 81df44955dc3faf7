/** Every case, in the order in which they are measured. */
import type { Case } from '../case.ts';
import { atOnce } from './at-once.ts';
import { branches, branchFiles } from './branches.ts';
import { productCalls } from './calls.ts';
import { changes, manyChanges } from './changes.ts';
import { clients, pages } from './clients.ts';
import { copy, files } from './files.ts';
import { graph, namedRuns } from './graph.ts';
import { idleList } from './idle-list.ts';
import { judged } from './judged.ts';
import { largeGraph } from './large-graph.ts';
import { longRun } from './long-run.ts';
import { mainJob, openJob, workOrder } from './main-job.ts';
import { manyNodes, nodes, oneNode } from './nodes.ts';
import { ordersAhead } from './orders-ahead.ts';
import { sandbox } from './sandbox.ts';
import { verbs } from './verbs.ts';
import { version } from './version.ts';

export const cases: readonly Case[] = [
  version,
  verbs,
  oneNode,
  nodes,
  sandbox,
  productCalls,
  graph,
  largeGraph,
  namedRuns,
  atOnce,
  branches,
  branchFiles,
  manyNodes,
  longRun,
  files,
  changes,
  manyChanges,
  copy,
  judged,
  mainJob,
  openJob,
  workOrder,
  ordersAhead,
  clients,
  pages,
  idleList,
];
