/** The graph that a branch walks: of a called pipeline its own, of an item of a list one with instances of its nodes. Pure. */
import { regionsOf } from './branches.ts';
import { itemScope, itemsOfList, listOf, settingsForItem, unfitItem } from './for-each.ts';
import type { Edge, Graph, GraphInstance, Node } from './graph.ts';
import type { Json } from './json.ts';
import type { Fork, OpenedFork } from './records/fork.ts';
import type { expand } from './references.ts';
import { withNodeSettings } from './settings/typing.ts';

/** The ids of the branches of a list of items, whose only branch begins with `first`. */
export const instanceIds = (first: string, items: readonly Json[]): readonly string[] =>
  items.map((_, at) => `${first}.${at + 1}`);

/** The branches of a fan-out over a list, one for each of its items, or why they cannot begin; undefined for another fan-out. */
export function forkOverItems(
  graph: Graph,
  node: Node,
  expanded: (text: string) => ReturnType<typeof expand>,
): OpenedFork | { readonly problem: string } | undefined {
  const list = listOf(node);
  const region = regionsOf(graph).get(node.id);
  const [branch] = region?.branches ?? [];
  if (list === undefined || region === undefined || branch === undefined) return undefined;
  const read = expanded(list);
  if ('unknown' in read) return { problem: `the list names ${read.unknown}, which has no value` };
  const found = itemsOfList(read.text);
  if ('problem' in found) return found;
  const { items } = found;
  const problem = unfitItem(graph, branch.nodes, items);
  if (problem !== undefined) return { problem };
  const key = node.settings.item_key;
  const set = (at: number) => (key === undefined ? {} : { set: { [key]: items[at] ?? null } });
  const branches = instanceIds(branch.id, items).map((id, at) => ({ id, ...set(at) }));
  return { join: region.join, items: [...items], branches };
}

/** `graph`: that in which the fork was opened. */
export function laneGraph(graph: Graph, fork: Pick<Fork, 'node' | 'call' | 'items'>, branch: string): Graph {
  if (fork.call === true) return graph.children?.get(fork.node) ?? graph;
  if (fork.items === undefined) return graph;
  const index = Number(branch.slice(branch.lastIndexOf('.') + 1));
  return instanceOf(graph, fork.node, { item: fork.items[index - 1] ?? null, index });
}

type ItemAt = Pick<GraphInstance, 'item' | 'index'>;

/** The latest instances of a graph: a branch asks for its own at each of its steps. */
const known = new WeakMap<Graph, Map<string, Graph>>();
const mostKnown = 64;

function instanceOf(graph: Graph, fanOut: string, at: ItemAt): Graph {
  const latest = known.get(graph) ?? new Map<string, Graph>();
  known.set(graph, latest);
  const key = JSON.stringify([fanOut, at.index, at.item]);
  const found = latest.get(key) ?? withInstances(graph, fanOut, at);
  latest.delete(key);
  latest.set(key, found);
  const [oldest] = latest.keys();
  if (latest.size > mostKnown && oldest !== undefined) latest.delete(oldest);
  return found;
}

/** The graph with an instance of each node of the fan-out's only branch in its place. */
function withInstances(graph: Graph, fanOut: string, { item, index }: ItemAt): Graph {
  const nodes = regionsOf(graph).get(fanOut)?.branches[0]?.nodes ?? new Set<string>();
  const ids = new Map([...nodes].map((id) => [id, `${id}.${index}`]));
  const inRun = (id: string): string => ids.get(id) ?? id;
  const scope = itemScope(item, index);
  const instance = (node: Node): Node => {
    if (!nodes.has(node.id)) return node;
    const read = settingsForItem(node, scope);
    return moved('values' in read ? withNodeSettings(node, read.values) : node, inRun);
  };
  const children = [...(graph.children ?? [])].map(([id, child]) => {
    const call = instance(child.call?.node ?? nodeOfGraph(graph, id));
    return [call.id, nodes.has(id) ? calledFrom(child, call) : child] as const;
  });
  return {
    ...graph,
    nodes: new Map([...graph.nodes.values()].map(instance).map((node) => [node.id, node])),
    edges: graph.edges.map((edge) => movedEdge(edge, inRun)),
    ...(graph.children === undefined ? {} : { children: new Map(children) }),
    instance: named(graph, ids, { item, index, key: graph.nodes.get(fanOut)?.settings.item_key }),
  };
}

/** The ids of instances, by those of the graph without any: there may be instances of instances. */
function named(
  { instance: outer }: Graph,
  ids: ReadonlyMap<string, string>,
  at: Omit<GraphInstance, 'ids' | 'origins'>,
): GraphInstance {
  const all = new Map([
    ...(outer?.ids ?? []),
    ...[...ids].map(([id, now]) => [outer?.origins.get(id) ?? id, now] as const),
  ]);
  return { ...at, ids: all, origins: new Map([...all].map(([id, now]) => [now, id])) };
}

const nodeOfGraph = ({ nodes }: Graph, id: string): Node => {
  const node = nodes.get(id);
  if (node === undefined) throw new Error(`Internal: no node ${id} in a linted graph`);
  return node;
};

/** The node under its id in the run, with the nodes that its settings name. */
function moved(node: Node, inRun: (id: string) => string): Node {
  const { retry_target, fallback_retry_target, required_tool_node } = node.settings;
  const target = (id: string | undefined) => (id === undefined ? undefined : inRun(id));
  const targets = {
    retry_target: target(retry_target),
    fallback_retry_target: target(fallback_retry_target),
    required_tool_node: target(required_tool_node),
  };
  return withNodeSettings({ ...node, id: inRun(node.id) }, targets);
}

const movedEdge = (edge: Edge, inRun: (id: string) => string): Edge => {
  const [from, to] = [inRun(edge.from), inRun(edge.to)];
  return from === edge.from && to === edge.to ? edge : { ...edge, from, to };
};

/** A called pipeline under the id of another call. */
function calledFrom(child: Graph, call: Node): Graph {
  const before = child.call?.node.id ?? call.id;
  const inRun = (id: string): string =>
    id.startsWith(`${before}.`) ? `${call.id}${id.slice(before.length)}` : id;
  return calledAs(child, call, inRun);
}

function calledAs(child: Graph, call: Node, inRun: (id: string) => string): Graph {
  const nodes = new Map([...child.nodes.values()].map((node) => [inRun(node.id), moved(node, inRun)]));
  const children = [...(child.children ?? [])].map(([id, inner]) => {
    const by = nodes.get(inRun(id));
    return [inRun(id), by === undefined ? inner : calledAs(inner, by, inRun)] as const;
  });
  return {
    ...child,
    nodes,
    edges: child.edges.map((edge) => movedEdge(edge, inRun)),
    ...(child.call === undefined ? {} : { call: { ...child.call, node: call } }),
    ...(child.children === undefined ? {} : { children: new Map(children) }),
  };
}
