/** Context keys that only the engine sets. */

const reserved = [
  ...['internal', 'last_failure', 'graph', 'outcome', 'current_node', 'human_response'],
  ...['parallel.results', 'parallel.conflicts'],
];
const namespaces = [
  ...['internal.', 'last_failure.', 'graph.', 'human.gate.'],
  ...['parallel.results.', 'parallel.fan_in.'],
];

/** The first key of `updates` that neither an agent nor a tool may set; undefined when all are allowed. `latest`: further keys of
 *  the engine in this graph. */
export function reservedKeyIn(
  updates: Readonly<Record<string, unknown>>,
  latest?: ReadonlySet<string>,
): string | undefined {
  return Object.keys(updates).find(
    (key) =>
      reserved.includes(key) ||
      latest?.has(key) === true ||
      namespaces.some((namespace) => key.startsWith(namespace)),
  );
}
