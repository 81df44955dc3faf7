/** Checks the manifest, the texts in it, and the files that it names. */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { sha256 } from '../core/sha256.ts';
import { namesIn } from '../platform/files/read.ts';
import { hashArtifact } from '../run/artifacts.ts';
import { lostText, manifestHash, storedText, wasManifest } from '../run/inputs.ts';
import type { RunReader } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import type { Findings } from './report.ts';

/** The manifest; undefined if it cannot be read. */
export async function checkManifest(
  reader: RunReader,
  history: RunHistory | undefined,
  found: Findings,
): Promise<Manifest | undefined> {
  const where = 'manifest.json';
  const read = await reader.manifest();
  if (!read.ok) {
    found.add('unreadable', where, read.why);
    return undefined;
  }
  found.count('files');
  const text = readFileSync(layout(reader.dir).manifest, 'utf8');
  const value = JSON.parse(text) as object;
  if (text !== `${JSON.stringify(value, null, 2)}\n`)
    found.add('changed', where, 'its white space is not as the engine writes it');
  if (history === undefined)
    found.cannot('manifest.json as a whole: the journal, which has its hash, cannot be read');
  else if (read.sha256 !== history.manifestSha256 || !wasManifest(history, manifestHash(value)))
    found.add('changed', where, 'it is not the manifest that the journal knows', {
      should: history.manifestSha256,
      is: manifestHash(value),
    });
  checkTexts(read.manifest, found);
  return read.manifest;
}

function checkTexts({ pipeline_path, pipeline, prompts, schemas = {} }: Manifest, found: Findings): void {
  const texts = [
    [`the text of the pipeline (${basename(pipeline_path)})`, pipeline] as const,
    ...Object.entries(prompts).map(([name, prompt]) => [`the text of prompt ${name}`, prompt] as const),
    ...Object.entries(schemas).map(([name, schema]) => [`the text of schema ${name}`, schema] as const),
  ];
  for (const [what, { text, sha256: should }] of texts) {
    found.count('inputs');
    found.hash('manifest.json', should, sha256(text), what);
  }
}

/** Checks the immutable files of the run. */
export async function checkKept(runDir: string, manifest: Manifest, found: Findings): Promise<void> {
  const { variables, texts = {}, files = {} } = manifest;
  const named = [
    ...Object.entries(variables).map(
      ([name, { file }]) => [`the text of variable "${name}"`, file?.sha256] as const,
    ),
    ...Object.entries(texts),
  ];
  for (const [what, hash] of named) {
    if (hash === undefined) continue;
    found.count('inputs');
    if (storedText(runDir, hash) === undefined) found.add('missing', 'contents', lostText(runDir, what));
  }
  for (const [path, should] of Object.entries(files)) {
    found.count('files');
    found.hash(path, should, await hashArtifact(join(runDir, path)));
  }
  // factory's git calls run no hooks there, but a user's git would.
  for (const folder of ['history.git/info', 'history.git/hooks'])
    for (const name of namesIn(join(runDir, folder)))
      if (files[`${folder}/${name}`] === undefined && !/^\..*\.tmp$/.test(name))
        found.add('added', `${folder}/${name}`, 'the run started without this file');
}

/** Checks the sealed store of the holdout. */
export async function checkSealed(runDir: string, { holdout }: Manifest, found: Findings): Promise<void> {
  const is = await hashArtifact(layout(runDir).sealed);
  if (holdout === undefined) {
    if (is !== undefined) found.add('added', '.sealed', 'the manifest has no holdout');
    return;
  }
  found.count('files');
  found.hash('.sealed', holdout.store_sha256, is, 'the sealed store of the holdout');
}
