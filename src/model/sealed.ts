/** The holdout: files that no agent may read, and their description in the manifest. */

import * as z from 'zod';
import { once } from './once.ts';
import { fileName, innerPath } from './safe-names.ts';

/** A file, link or folder of the holdout, below a sealed path. */
export type SealedFile = {
  /** Relative to the workspace; bytes that are not UTF-8 are escaped as in `workspace/names.ts`. */
  readonly path: string;
  readonly kind: 'file' | 'link' | 'dir';
  /** Permission bits; ignored for links. */
  readonly mode: number;
  /** A file's bytes, a link's target; empty for a folder. */
  readonly content: Buffer;
};

/** The description of the holdout in `manifest.json`. */
export const holdoutSchema = once(() =>
  z.object({
    paths: z
      .array(innerPath())
      .describe('Sealed paths, relative to the workspace, without a slash at the end'),
    from: z.string().describe('`workdir`, or the absolute path of the source folder'),
    files: z.int().nonnegative().describe('Files and links'),
    sha256: z
      .string()
      .describe('Of the list of all sealed entries: kind, mode, SHA-256 and path, one line each'),
    store_sha256: z.string().describe('Of the encrypted store'),
    key: fileName().describe('Name of the key, which is stored outside the run directory'),
  }),
);
export type Holdout = z.infer<ReturnType<typeof holdoutSchema>>;

/** The part that is shown to users and recorded: never file names or contents. */
export const toldOf = ({ paths, files, from, sha256 }: Holdout) => ({
  paths: [...paths],
  files,
  from,
  sha256,
});
