/** All node types. */
import type { NodeKind } from '../core/contracts/node-kind.ts';
import type { AttributeTable } from '../core/settings/types.ts';
import { manager, subgraph } from './call.ts';
import { codergen } from './codergen.ts';
import { conditional } from './conditional.ts';
import { exit } from './exit.ts';
import { fanIn } from './fan-in.ts';
import { parallel } from './parallel.ts';
import { singleCall } from './single-call.ts';
import { start } from './start.ts';
import { tool } from './tool.ts';
import { verification } from './verification.ts';
import { wait } from './wait.ts';
import { waitHuman } from './wait-human.ts';

/** `ofAgents`: the attributes that agents read from their nodes. */
export const nodeKinds = (ofAgents: AttributeTable): readonly NodeKind[] => [
  ...[start, exit, tool],
  { ...codergen, attributes: { ...codergen.attributes, ...ofAgents } },
  singleCall(ofAgents),
  ...[verification, conditional, waitHuman, wait, parallel, fanIn, subgraph, manager],
];
