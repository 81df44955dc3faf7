/** What two runs were started with, where it differs. Pure. */
import { allNodes, type Graph, type Node, nodeOf } from '../../core/graph.ts';
import { own } from '../../core/json.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { isDrawing } from '../../core/settings/foreign.ts';
import type { Attributes } from '../../core/settings/types.ts';
import type { RunComparison } from './shape.ts';

/** What a run was started with. */
export type StartedRun = { readonly manifest: Manifest; readonly graph: Graph | undefined };

type InputDifference = RunComparison['inputs'][number];
type Facts = ReadonlyMap<string, string>;

/** Settings of the pipeline and its nodes, edges, variables, agent, limits, workdir. */
export function differentInputs(a: StartedRun, b: StartedRun): readonly InputDifference[] {
  return differencesOf(factsOf(a), factsOf(b));
}

/** The attributes that differ of a node that both pipelines have. */
export function differentSettings(a: StartedRun, b: StartedRun, node: string): readonly InputDifference[] {
  const [was, is] = [nodeOf(a.graph, node), nodeOf(b.graph, node)];
  return was === undefined || is === undefined
    ? []
    : differencesOf(settingsOf(was, a.manifest), settingsOf(is, b.manifest));
}

const differencesOf = (a: Facts, b: Facts): readonly InputDifference[] =>
  [...new Set([...a.keys(), ...b.keys()])].flatMap((name) => {
    const [was, is] = [a.get(name) ?? null, b.get(name) ?? null];
    return was === is ? [] : [{ name, a: was, b: is }];
  });

function factsOf({ manifest, graph }: StartedRun): Facts {
  const { agent, caps, variables, workdir_kind, original_workdir, base_commit } = manifest;
  const facts = new Map<string, string>();
  const add = (name: string, value: string | null | undefined) => {
    if (value !== undefined && value !== null && value !== '') facts.set(name, value);
  };
  for (const [name, { value, file }] of Object.entries(variables))
    add(`var ${name}`, file === undefined ? value : `${file.source} (${file.sha256.slice(0, 8)})`);
  add('agent', agent.name);
  add('agent script', agent.script?.sha256.slice(0, 8));
  add('model', agent.model);
  add('effort', agent.effort);
  add('fidelity', agent.fidelity);
  add('workdir', workdir_kind === 'none' ? undefined : original_workdir);
  add('commit', base_commit?.slice(0, 10));
  for (const [name, value] of Object.entries(caps)) add(name, value?.toString());
  if (graph === undefined) return facts;
  for (const [name, value] of attributesOf(graph.attrs)) add(`graph ${name}`, value);
  for (const [id, node] of allNodes(graph)) {
    add(`node ${id}`, node.type);
    for (const [name, value] of settingsOf(node, manifest)) add(`${id}.${name}`, value);
  }
  for (const { from, to, conditionText } of graph.edges)
    add(`edge ${from} -> ${to}`, edgeWords(facts.get(`edge ${from} -> ${to}`), conditionText));
  return facts;
}

/** Two nodes may have several edges. */
const edgeWords = (before: string | undefined, condition: string): string =>
  [...(before === undefined ? [] : [before]), condition === '' ? 'unconditional' : condition].join(', ');

/** The attributes of a node as its author wrote them; of a file that one names its text. */
function settingsOf({ attrs }: Node, { prompts, schemas = {} }: Manifest): Facts {
  return new Map(
    [...attributesOf(attrs)].map(([key, text]) => [
      key,
      (own(prompts, text.trim()) ?? own(schemas, text.trim()))?.text ?? text,
    ]),
  );
}

const attributesOf = (attrs: Attributes): Facts =>
  new Map(
    [...attrs.values()].flatMap(({ key, value }) =>
      isDrawing(key) || key === 'comment' ? [] : [[key, value.text] as const],
    ),
  );
