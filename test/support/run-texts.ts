/** All that a run directory holds as text: its files, and the contents of its store, which are compressed on disk. */
import { closeSync, lstatSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { itemsIn } from '../../src/contents/pack.ts';
import { ContentStore } from '../../src/contents/store.ts';
import { layout } from '../../src/core/records/layout.ts';

type NamedText = { readonly name: string; readonly bytes: Buffer };

/** By path in the run directory, and `contents:<hash>`. */
export function textsOfRun(runDir: string): readonly NamedText[] {
  const files = (readdirSync(runDir, { recursive: true, encoding: 'utf8' }) as string[])
    .filter((name) => lstatSync(join(runDir, name)).isFile())
    .map((name) => ({ name, bytes: readFileSync(join(runDir, name)) }));
  return [...files, ...textsOfStore(runDir)];
}

/** Contents and records of folders in the store of a run. */
export function textsOfStore(runDir: string): readonly NamedText[] {
  const store = new ContentStore(layout(runDir).contents);
  store.refresh();
  return [...store.keys('bytes')].map((hash) => ({ name: `contents:${hash}`, bytes: store.bytes(hash) }));
}

/** Names of those that have the text. */
export const holdersOf = (texts: readonly NamedText[], text: string): readonly string[] =>
  texts.filter(({ bytes }) => bytes.includes(text)).map(({ name }) => name);

/** Changes one byte of a content in the store of a run, wherever the store has it. */
export function damageContent(runDir: string, hash: string): void {
  const pack = join(layout(runDir).contents, 'pack');
  const file = openSync(pack, 'r');
  const items = [...itemsIn(file, 0)].filter(({ key }) => key === hash);
  closeSync(file);
  if (items.length === 0) throw new Error(`there is no content ${hash} in ${pack}`);
  const bytes = readFileSync(pack);
  for (const { end } of items) bytes.writeUInt8(bytes.readUInt8(end - 1) ^ 1, end - 1);
  writeFileSync(pack, bytes);
}

/** Changes one byte of a text that the run was started with, by its name in the manifest. */
export function damageText(runDir: string, name: string): void {
  const { texts, variables } = JSON.parse(readFileSync(layout(runDir).manifest, 'utf8'));
  damageContent(runDir, texts?.[name] ?? variables[name].file.sha256);
}
