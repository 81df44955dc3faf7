/** One call of a model: a codergen node that only reads. Its model has no tools, and an agent program cannot change the workspace. */
import type { NodeKind } from '../core/contracts/node-kind.ts';
import { writesNothing } from '../core/settings/node.ts';
import type { AttributeTable } from '../core/settings/types.ts';
import { codergen } from './codergen.ts';

/** What only a model with tools reads. */
const ofTools: readonly string[] = ['agent.mode', 'openai.tools', 'openai.run_timeout', 'max_turns'];

const without = (table: AttributeTable, names: readonly string[]): AttributeTable =>
  Object.fromEntries(Object.entries(table).filter(([name]) => !names.includes(name)));

/** `ofAgents`: the attributes that agents read from their nodes. */
export const singleCall = (ofAgents: AttributeTable): NodeKind => {
  const { codes: _, aliases: __, ...shared } = codergen;
  return {
    ...shared,
    type: 'prompt',
    does: 'Asks a model for one answer, without tools; an agent program can read the workspace, not change it.',
    shapes: ['tab'],
    attributes: {
      ...codergen.attributes,
      ...without(ofAgents, ofTools),
      allowed_write_paths: writesNothing,
    },
  };
};
