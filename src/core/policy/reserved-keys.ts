/** Context keys that only the engine sets. */

const reserved = ['internal', 'last_failure', 'graph', 'outcome', 'current_node', 'human_response'];
const namespaces = ['internal.', 'last_failure.', 'graph.', 'human.gate.'];

/** The first key of `updates` that neither an agent nor a tool may set; undefined when all are allowed. */
export function reservedKeyIn(updates: Readonly<Record<string, unknown>>): string | undefined {
  return Object.keys(updates).find(
    (key) => reserved.includes(key) || namespaces.some((namespace) => key.startsWith(namespace)),
  );
}
