/** Changes of a run's manifest and inputs at a resume. */
import type { Manifest } from '../../core/records/manifest.ts';
import { sha256 } from '../../core/sha256.ts';
import { manifestHash, storeManifest } from '../../run/inputs.ts';
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

/** Stores the changed manifest and texts of the run whose manifest has the hash `before`. Answers the hash of the new manifest,
 *  which counts once the journal has it. */
export async function storeResumeChange(
  runDir: string,
  change: ResumeChange,
  before: string,
): Promise<string> {
  const { script } = change;
  const texts = textsIn(change).map(([, text]) => text);
  const kept = script === undefined ? {} : { [keptScript]: sha256(script) };
  const manifest =
    script === undefined
      ? change.manifest
      : { ...change.manifest, texts: { ...change.manifest.texts, ...kept } };
  if (manifestHash(manifest) === before) return before;
  return storeManifest(runDir, manifest, script === undefined ? texts : [...texts, script]);
}
