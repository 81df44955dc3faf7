/** Every case, in the order in which they are measured. */
import type { Case } from '../case.ts';
import { atOnce } from './at-once.ts';
import { copy, files } from './files.ts';
import { graph } from './graph.ts';
import { judged } from './judged.ts';
import { manyNodes, nodes, oneNode } from './nodes.ts';
import { version } from './version.ts';

export const cases: readonly Case[] = [
  version,
  oneNode,
  nodes,
  graph,
  atOnce,
  manyNodes,
  files,
  copy,
  judged,
];
