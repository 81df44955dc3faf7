/** Which changes were asked for: what work orders and nodes say about files. */
import { loadOrders } from '../builder/orders.ts';
import { paths, readAttributes } from '../model/attribute.ts';
import type { Graph } from '../model/graph.ts';
import { inScope } from '../policy/paths.ts';

export type Scope = { named(path: string): boolean; readonly mayChange: boolean };

const nothing: Scope = { named: () => false, mayChange: false };

/** What the node's `allowed_write_paths` names; an entry for the whole workspace names no file. */
export function scopeOfNode(graph: Graph | undefined, id: string): Scope {
  const node = graph?.nodes.get(id);
  if (node === undefined) return nothing;
  const { allowed_write_paths: allowed = [] } = readAttributes(node.attrs, {
    allowed_write_paths: paths(),
  }).values;
  const entries = allowed.filter((entry) => /[^./]/.test(entry));
  return { named: (path) => inScope(path, entries), mayChange: false };
}

/** By a commit's message what its work order says. An order counts only where it is the text that the commit was made for;
 *  without one, nothing is named. */
export async function scopesOfOrders(workspace: string): Promise<(message: string) => Scope> {
  const loaded = await loadOrders(workspace, { allowExempt: true });
  const orders = new Map('orders' in loaded ? loaded.orders.map((one) => [one.digest, one.order]) : []);
  return (message) => {
    const order = orders.get(/^Work-Order-Digest: (\w+)$/m.exec(message)?.[1] ?? '');
    if (order === undefined) return nothing;
    return {
      named: (path) => order.allowed_files.includes(path),
      mayChange: /^\s*may_change_checks\s*$/m.test(order.notes ?? ''),
    };
  };
}
