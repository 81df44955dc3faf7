/** The requested changes: files named by work orders and nodes. */
import { loadOrders } from '../builder/orders.ts';
import type { Graph } from '../model/graph.ts';
import { inScope } from '../policy/paths.ts';

export type Scope = { named(path: string): boolean; readonly mayChange: boolean };

const nothing: Scope = { named: () => false, mayChange: false };

/** Files named by the node's `allowed_write_paths`; an entry for the whole workspace names none. */
export function scopeOfNode(graph: Graph | undefined, id: string): Scope {
  const node = graph?.nodes.get(id);
  if (node === undefined) return nothing;
  const { allowed_write_paths: allowed = [] } = node.settings;
  const entries = allowed.filter((entry) => /[^./]/.test(entry));
  return { named: (path) => inScope(path, entries), mayChange: false };
}

/** The scope of a commit's work order. An order counts only if its text is the one that the commit names; without one, no
 *  file is named. */
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
