/** The folder of an execution: the latest of a node at the top of the node's folder, earlier ones below `visits/`. */
import { join } from 'node:path';
import { layout, nodeLayout } from '../../core/records/layout.ts';
import { readStage } from '../../run/node-directory.ts';

export async function folderOf(
  runDir: string,
  { node, visit }: { readonly node: string; readonly visit: number },
): Promise<string> {
  const top = layout(runDir).node(node);
  const stage = await readStage(top);
  return stage !== undefined && stage.visit > visit ? join(nodeLayout(top).visits, String(visit)) : top;
}
