/** The attributes of a node that the page can set in a fork, as its run has them. */
import * as z from 'zod';
import { type Graph, isAgentType } from '../../core/graph.ts';
import { own } from '../../core/json.ts';
import { once } from '../../core/once.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { isOfferedToForks } from '../../core/settings/forks.ts';
import { kindsOf } from '../kinds.ts';

export const nodeSettingsSchema = once(() =>
  z
    .array(z.object({ name: z.string().describe('Of the attribute'), text: z.string() }))
    .describe(
      'Attributes of the node that a fork can set: those of its pipeline, of a prompt file its text; empty for a node of a called pipeline',
    ),
);
type NodeSettingTexts = z.infer<ReturnType<typeof nodeSettingsSchema>>;

/** What people look for first. */
const first: readonly string[] = ['prompt', 'tool_command', 'llm_model'];

export function nodeSettingsOf(
  { graph, manifest }: { readonly graph: Graph | undefined; readonly manifest: Pick<Manifest, 'prompts'> },
  id: string,
): NodeSettingTexts {
  const node = graph?.nodes.get(id);
  const table = graph && kindsOf(graph).find(({ type }) => type === node?.type)?.attributes;
  if (node === undefined || table === undefined) return [];
  const offered = first.filter((name) => Object.hasOwn(table, name));
  const written = [...node.attrs.keys()].filter((name) => Object.hasOwn(table, name));
  const names =
    isAgentType(node.type) || offered.includes('tool_command') ? [...offered, ...written] : written;
  return [...new Set(names)].flatMap((name) => {
    const text = node.attrs.get(name)?.value.text ?? '';
    const file = name === 'prompt' ? own(manifest.prompts, text.trim())?.text : undefined;
    return !isOfferedToForks(name) || (file === undefined && text.startsWith('@'))
      ? []
      : [{ name, text: file ?? text }];
  });
}
