/** The finished nodes whose text a resume with accepted changes has edited: their results stay unchanged. Pure. */
import type { RunState } from '../model/checkpoint.ts';
import type { Graph, Node } from '../model/graph.ts';
import type { Manifest } from '../model/manifest.ts';
import { own } from '../model/own.ts';

type Texts = Readonly<Record<string, { readonly sha256: string }>>;

/** Ids of nodes that have run, whose attributes, prompt file or schema file differ. The next node runs with its new text. */
export function editedAfterwards(
  before: { readonly graph: Graph | undefined; readonly texts: Pick<Manifest, 'prompts' | 'schemas'> },
  now: { readonly graph: Graph; readonly prompts: Texts; readonly schemas: Texts },
  { visits, next_node }: Pick<RunState, 'visits' | 'next_node'>,
): readonly string[] {
  const old = before.graph;
  if (old === undefined) return [];
  const { prompts, schemas = {} } = before.texts;
  const is = (graph: Graph, id: string, texts: readonly Texts[]) => described(graph.nodes.get(id), texts);
  return [...now.graph.nodes.keys()].filter(
    (id) =>
      id !== next_node &&
      (own(visits, id) ?? 0) > 0 &&
      is(old, id, [prompts, schemas]) !== is(now.graph, id, [now.prompts, now.schemas]),
  );
}

/** A node's attributes, and the content of the files that they name. */
function described(node: Node | undefined, texts: readonly Texts[]): string {
  const attrs = [...(node?.attrs.values() ?? [])].map(({ key, value }) => [key, value.text] as const).sort();
  const files = attrs.map(([, text]) => texts.map((some) => own(some, text)?.sha256));
  return JSON.stringify([attrs, files]);
}
