/** What is run: pipelines, and trees of files. The same bytes every time, except where they are random. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const attributes = 'shape=parallelogram, tool_command="true"';
const frame = (lines: readonly string[]): string =>
  `digraph bench {\n${lines.map((line) => `  ${line}\n`).join('')}}\n`;

export const nodeName = (number: number): string => `n${number}`;

/** `count` tool nodes in a row. Every statement ends in a semicolon and every node is declared before its edges, as
 *  the strictest reader of the dialect wants; the cap on steps is an attribute, as there may be no flag for it. */
export function chain(count: number): string {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  return frame([
    `graph [max_steps=${count + 10}];`,
    'start [shape=Mdiamond];',
    'done [shape=Msquare];',
    ...numbers.map((number) => `${nodeName(number)} [${attributes}];`),
    `start -> ${nodeName(1)};`,
    ...numbers.slice(1).map((number) => `${nodeName(number - 1)} -> ${nodeName(number)};`),
    `${nodeName(count)} -> done;`,
  ]);
}

/** A tool node for each of `paths`, in a row; each writes its file anew. */
export function touching(paths: readonly string[]): string {
  const rows = chain(paths.length).split('\n');
  return rows
    .map((row) => {
      const index = paths.findIndex((_, at) => row.startsWith(`  ${nodeName(at + 1)} [`));
      const command = `echo ${nodeName(index + 1)} > ${paths[index]}`;
      return index < 0 ? row : row.replace('tool_command="true"', `tool_command="${command}"`);
    })
    .join('\n');
}

/** `count` tool nodes that are read and checked and never run: the start leads straight to the exit, and to the first
 *  of them only if it fails, so that a program with no command but `runTool` can be measured at reading. */
export function detour(count: number): string {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const next = (number: number) => (number === count ? 'done' : nodeName(number + 1));
  return frame([
    'start [shape=Mdiamond];',
    'done [shape=Msquare];',
    'bad [shape=Msquare];',
    ...numbers.map((number) => `${nodeName(number)} [${attributes}, label="Step ${number}", timeout=30s];`),
    'start -> done [condition="outcome=success"];',
    `start -> ${nodeName(1)} [condition="outcome=fail"];`,
    ...numbers.flatMap((number) => [
      `${nodeName(number)} -> ${next(number)} [condition="outcome=success"];`,
      `${nodeName(number)} -> bad [condition="outcome=fail"];`,
    ]),
  ]);
}

/** A tree of `count` files, a hundred to a folder, of 256 bytes to 8 KiB as sources are. Gives their slash paths. */
export function makeTree(folder: string, count: number): string[] {
  let state = 12345;
  const random = () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state / 2 ** 32;
  };
  const bytes = Buffer.from(Array.from({ length: 8192 }, () => Math.floor(random() * 256)));
  mkdirSync(folder, { recursive: true });
  return Array.from({ length: count }, (_, index) => {
    const inner = `d${Math.floor(index / 10000)}/d${Math.floor(index / 100) % 100}`;
    if (index % 100 === 0) mkdirSync(join(folder, inner), { recursive: true });
    const path = `${inner}/f${index}.txt`;
    // The number first: no two files are alike, as a store that keeps equal ones once would profit from.
    writeFileSync(
      join(folder, path),
      Buffer.concat([Buffer.from(`${index}\n`), bytes.subarray(0, Math.floor(256 * 32 ** random()))]),
    );
    return path;
  });
}

/** A tree of `count` files of 4 KiB that no compression makes smaller, a hundred to a folder. Gives their slash paths. */
export function makeRandomTree(folder: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const inner = `d${Math.floor(index / 10000)}/d${Math.floor(index / 100) % 100}`;
    if (index % 100 === 0) mkdirSync(join(folder, inner), { recursive: true });
    const path = `${inner}/f${index}.bin`;
    writeFileSync(join(folder, path), randomBytes(4096));
    return path;
  });
}

/** Reads every file of a tree once, so that whoever is measured next finds it in the system's cache. */
export function readTree(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) readFileSync(join(entry.parentPath, entry.name));
}

/** A product of `mib` mebibytes of text as sources have it, in files of 64 KiB and one of a tenth of it all, and the
 *  scenarios that judge it, where they are sealed. */
export function makeJudged(folder: string, mib: number): void {
  let state = 54321;
  const one = (list: readonly string[]): string => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return list[(state >>> 16) % list.length] ?? '';
  };
  const starts = ['ha', 'Quay', 'dri', 'po', 'Ser', 'ling', 'ma', 'Tor', 'we', 'ku', 'al', 'Bre'];
  const ends = ['bour', 'ver', 'lent', 'rin', 'tack', 'mor', 'sel', 'dane', 'po', 'gram', '17', 'x'];
  const signs = [' = ', '(', ', ', ');', '.', ' + ', ' // ', ' "', '" ', ' => '];
  const line = (): string => {
    let text = '  ';
    while (text.length < 60) text += one(starts) + one(ends) + one(starts) + one(ends) + one(signs);
    return text;
  };
  const textOf = (bytes: number): string => {
    const lines = Array.from({ length: 200 }, line);
    let text = '';
    while (text.length < bytes) text += `${one(lines)}${one(ends)}\n`;
    return text;
  };
  const small = 64 * 1024;
  mkdirSync(join(folder, 'src'), { recursive: true });
  const count = Math.ceil((mib * 0.9 * 1024 * 1024) / small);
  for (let file = 0; file < count; file++) writeFileSync(join(folder, `src/f${file}.js`), textOf(small));
  writeFileSync(join(folder, 'src/all.js'), textOf(mib * 0.1 * 1024 * 1024));
  mkdirSync(join(folder, 'scripts/scenarios'), { recursive: true });
  for (const name of ['one', 'two'])
    writeFileSync(join(folder, `scripts/scenarios/${name}_scenario.sh`), `#!/bin/sh\n${textOf(4096)}`);
}
