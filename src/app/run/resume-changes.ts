/** Changes of a run's manifest and inputs at a resume. */
import { join, relative } from 'node:path';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { sha256 } from '../../core/sha256.ts';
import { manifestHash, prepareChange } from '../../run/inputs.ts';
import { keptScript } from '../types.ts';

/** What a resume changes about a run. */
export type ResumeChange = {
  readonly manifest: Manifest;
  /** Texts of file variables, by name. */
  readonly files: Readonly<Record<string, string>>;
  readonly script: string | undefined;
};

/** The texts of file variables, by the names of their files. */
export const textsIn = ({ files, manifest }: ResumeChange): (readonly [file: string, text: string])[] =>
  Object.entries(files).flatMap(([name, text]) => {
    const file = manifest.variables[name]?.file?.stored;
    return file === undefined ? [] : [[file, text] as const];
  });

/** Prepares the changed manifest and texts of the run whose manifest has the hash `before`. Answers the hash of the new
 *  manifest, which counts once the journal has it. */
export async function prepareResumeChange(
  runDir: string,
  change: ResumeChange,
  before: string,
): Promise<string> {
  const at = layout(runDir);
  const texts = textsIn(change);
  if (change.script !== undefined) texts.push([keptScript, change.script]);
  const { files: kept } = change.manifest;
  const hashes = texts.map(([file, text]) => [relative(runDir, join(at.inputs, file)), sha256(text)]);
  const files = { ...kept, ...Object.fromEntries(hashes) };
  const manifest = kept === undefined ? change.manifest : { ...change.manifest, files };
  if (texts.length === 0 && manifestHash(manifest) === before) return before;
  return prepareChange(runDir, manifest, texts);
}
