/** Texts that agents had at the start, and so can write without access to the holdout. */
import { type Graph, nodeOf } from '../core/graph.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { mayReadHoldout } from '../core/settings/node.ts';
import { storedText } from '../run/inputs.ts';
import type { Snapshots } from '../workspace/snapshot.ts';

/** Bytes of a file of the workspace; a larger one is data. */
const largest = 16 * 1024 * 1024;

/** The texts of file variables, then the files of the workspace as the snapshot `start` has it; each content once. */
export async function* knownTexts(
  runDir: string,
  manifest: Pick<Manifest, 'variables'>,
  snapshots: Snapshots,
  start: string,
): AsyncGenerator<Buffer> {
  for await (const { text } of fileVariables(runDir, manifest)) yield text;
  const seen = new Set<string>();
  for (const { kind, hash, size = 0 } of (await snapshots.load(start)).tree.values()) {
    if (kind !== 'file' || hash === undefined || size === 0 || size > largest || seen.has(hash)) continue;
    seen.add(hash);
    yield await snapshots.read(hash);
  }
}

/** The texts of file variables. */
export async function* fileVariables(
  runDir: string,
  manifest: Pick<Manifest, 'variables'>,
): AsyncGenerator<{ readonly name: string; readonly text: Buffer }> {
  for (const [name, { file }] of Object.entries(manifest.variables)) {
    if (file === undefined) continue;
    const text = storedText(runDir, file.sha256);
    if (text !== undefined) yield { name, text: Buffer.from(text) };
  }
}

/** Nodes that may read the holdout: their prompts, answers and files are no leaks. */
export const mayReadIn =
  (graph: Graph | undefined) =>
  (id: string): boolean => {
    const node = nodeOf(graph, id);
    return node !== undefined && mayReadHoldout(node);
  };
