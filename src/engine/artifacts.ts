/** Writing into a node's folder, which the node's own programs can write into too. */
import { basename } from 'node:path';
import { writeFileAtomic, writeFresh } from '../system/files.ts';

/** Artifacts that somebody may look at as soon as they are there. */
const lookedFor: ReadonlySet<string> = new Set(['status.json', 'response.md', 'verification.results.json']);

/** Writes an artifact. A folder that a stage left in its place goes. What a visit writes first is torn where the engine is
 *  killed meanwhile, and then goes with all that the visit left. */
export async function keepText(path: string, text: string): Promise<void> {
  if (!lookedFor.has(basename(path)) && writeFresh(path, text, 0o644)) return;
  await writeFileAtomic(path, text, { evenFolder: true });
}

/** The same for JSON, with two-space indent and a final newline. */
export const keepJson = (path: string, value: unknown): Promise<void> =>
  keepText(path, `${JSON.stringify(value, null, 2)}\n`);
