/** What a run was started from: the manifest, the texts that it holds, and the files that it names. */
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { inputPath, keptPath, manifestHash } from '../engine/kept.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { SealedFile } from '../model/sealed.ts';
import { sha256 } from '../model/sha256.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import type { Vouched } from '../store/checkpoint.ts';
import { readManifest } from '../store/run-store.ts';
import { readSealed } from '../store/sealed.ts';
import { namesIn } from '../system/read.ts';
import type { Findings } from './report.ts';

/** Whether the manifest is the one that the checkpoint said would take the place of its own. */
export const isNext = async (runDir: string, { manifest_next }: Vouched): Promise<boolean> =>
  manifest_next !== undefined &&
  manifestHash(JSON.parse(await readFile(layout(runDir).manifest, 'utf8')) as object) === manifest_next;

/** The manifest, as far as it can be read; what is wrong with it is among the findings. */
export async function checkManifest(
  runDir: string,
  vouched: Vouched | undefined,
  found: Findings,
): Promise<Manifest | undefined> {
  const where = 'manifest.json';
  const read = await readManifest(runDir);
  if (!read.ok) {
    found.add('unreadable', where, read.why);
    return undefined;
  }
  found.count('files');
  const text = await readFile(layout(runDir).manifest, 'utf8');
  const value = JSON.parse(text) as object;
  if (text !== `${JSON.stringify(value, null, 2)}\n`)
    found.add('changed', where, 'the file is not written as the engine writes it');
  if (vouched === undefined)
    found.cannot('manifest.json as a whole: the checkpoint, which has its hash, cannot be read');
  else if (vouched.manifest_sha256 === undefined)
    found.cannot('manifest.json as a whole: an earlier version recorded no hash of it');
  else {
    const is = manifestHash(value);
    if (is !== vouched.manifest_sha256 && is !== vouched.manifest_next)
      found.add('changed', where, 'the file is not the manifest that the checkpoint knows', {
        should: vouched.manifest_sha256,
        is,
      });
  }
  checkTexts(read.manifest, found);
  return read.manifest;
}

/** Texts that stand in the manifest, each with its hash. */
function checkTexts(manifest: Manifest, found: Findings): void {
  const check = (what: string, { text, sha256: should }: { text: string; sha256: string }) => {
    found.count('inputs');
    found.hash('manifest.json', should, sha256(text), what);
  };
  check(`the text of the pipeline (${basename(manifest.pipeline_path)})`, manifest.pipeline);
  for (const [name, prompt] of Object.entries(manifest.prompts)) check(`the text of prompt ${name}`, prompt);
  for (const [name, schema] of Object.entries(manifest.schemas ?? {}))
    check(`the text of schema ${name}`, schema);
}

/** The files that stay as they were when the run began. */
export async function checkKept(runDir: string, manifest: Manifest, found: Findings): Promise<void> {
  const inputs = 'inputs';
  for (const [name, { file }] of Object.entries(manifest.variables)) {
    if (file === undefined) continue;
    found.count('inputs');
    const is = await hashFile(inputPath(runDir, file.stored));
    found.hash(`${inputs}/${file.stored}`, file.sha256, is, `the text of variable "${name}"`);
  }
  const { files } = manifest;
  if (files === undefined) {
    found.cannot('other inputs: an earlier version recorded no hashes of them');
    return;
  }
  for (const [path, should] of Object.entries(files)) {
    found.count('files');
    found.hash(path, should, await hashFile(keptPath(runDir, path)));
  }
  for (const name of namesIn(join(runDir, inputs)))
    if (files[`${inputs}/${name}`] === undefined && !/^\..*\.tmp$/.test(name))
      found.add('added', `${inputs}/${name}`, 'the run was not begun with this file');
  // Git is told to run no hooks there; whoever looks at the commits by a git of their own may not be.
  for (const folder of ['info', 'hooks'])
    for (const name of namesIn(join(layout(runDir).history, folder)))
      if (files[`history.git/${folder}/${name}`] === undefined)
        found.add('added', `history.git/${folder}/${name}`, 'the history was not begun with this file');
}

/** The sealed scenarios: the store always, what is in it where the key is at hand. Answers with that. */
export async function checkSealed(
  runDir: string,
  manifest: Manifest,
  env: Readonly<Record<string, string | undefined>>,
  found: Findings,
): Promise<readonly SealedFile[] | undefined> {
  const { holdout } = manifest;
  const path = layout(runDir).sealed;
  const is = await hashFile(path);
  if (holdout === undefined) {
    if (is !== undefined) found.add('added', '.sealed', 'the manifest knows of no sealed scenarios');
    return undefined;
  }
  found.count('files');
  if (!found.hash('.sealed', holdout.store_sha256, is, 'the store of the sealed scenarios')) return undefined;
  const read = await readSealed(runDir, holdout, env);
  if ('problem' in read) {
    found.cannot(`what the sealed scenarios say: ${read.problem.message}`);
    return undefined;
  }
  found.count('scenario files', holdout.files);
  return read.files;
}

/** Files outside the run that it was started from: that they are others by now is no fault of the run. */
export async function noteSources(manifest: Manifest, found: Findings): Promise<void> {
  const sources: [string, string, string][] = [
    ...(manifest.pipeline_file === undefined
      ? []
      : [['the pipeline', manifest.pipeline_file, manifest.pipeline.sha256] as [string, string, string]]),
    ...Object.entries({ ...manifest.prompts, ...manifest.schemas }).map(
      ([name, { path, sha256: hash }]): [string, string, string] => [name, path, hash],
    ),
    ...Object.entries(manifest.variables).flatMap(([name, { file }]): [string, string, string][] =>
      file === undefined ? [] : [[`variable "${name}"`, file.source, file.sha256]],
    ),
  ];
  for (const [what, path, should] of sources) {
    const is = await hashFile(path);
    if (is === undefined) found.cannot(`whether ${what} is still the same outside: there is no ${path}`);
    else if (is !== should)
      found.note(path, `${what} is another text by now than the run was given`, { should, is });
  }
}
