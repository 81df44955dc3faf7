/** What is out of the builder's reach: the files of the judge, and what a manifest says of them. */
import * as z from 'zod';
import { fileName, innerPath } from './safe-names.ts';

/** A file, link or folder of the holdout, below a sealed path. */
export type SealedFile = {
  /** Relative to the workspace; bytes that are no UTF-8 as `workspace/names.ts` spells them. */
  readonly path: string;
  readonly kind: 'file' | 'link' | 'dir';
  /** Permission bits; of a link none that count. */
  readonly mode: number;
  /** A file's bytes, a link's target; empty for a folder. */
  readonly content: Buffer;
};

/** What `manifest.json` commits to. */
export const Holdout = z.object({
  paths: z.array(innerPath).describe('Sealed paths, relative to the workspace, without a slash at the end'),
  from: z.string().describe('`workdir`, or the absolute folder that they were taken from'),
  files: z.int().nonnegative().describe('Files and links'),
  sha256: z.string().describe('Of the list of all that is sealed: kind, mode, SHA-256 and path, a line each'),
  store_sha256: z.string().describe('Of the encrypted store'),
  key: fileName.describe('Name of the key, which lies outside the run directory'),
});
export type Holdout = z.infer<typeof Holdout>;

/** What people and records are told of it: never which files there are, never what is in them. */
export const toldOf = ({ paths, files, from, sha256 }: Holdout) => ({
  paths: [...paths],
  files,
  from,
  sha256,
});
