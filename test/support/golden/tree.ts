/** What a run leaves: its documented files by name, and the files of its workspace with their content. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Plain } from './records.ts';

/** Places of the engine's own, and files whose names are no promise. */
const own =
  /^(?:\.|contents|lock|sealed|history\.git|visits|package\.json)(?:\/|$)|\/stage\.json$|\/verification\.seconds\.json$/;
/** What the engine, its pipelines and Python keep in a workspace. */
const ownOfWorkspace = /^\.factory\/|(?:^|\/)__pycache__\//;

export function treeText(run: string, plain: Plain): string {
  const names = (readdirSync(run, { recursive: true, encoding: 'utf8' }) as string[])
    .filter((name) => !lstatSync(join(run, name)).isDirectory() && !own.test(name))
    .sort();
  const inWorkspace = names.filter((name) => name.startsWith('workspace/'));
  const others = names.filter((name) => !name.startsWith('workspace/'));
  const files = inWorkspace
    .filter((name) => !ownOfWorkspace.test(name.slice('workspace/'.length)))
    .map((name) => fileText(run, name));
  return plain(`${others.join('\n')}\n\n${files.join('\n')}`);
}

function fileText(run: string, name: string): string {
  const path = join(run, name);
  const is = lstatSync(path);
  if (is.isSymbolicLink()) return `== ${name} -> ${readlinkSync(path)}\n`;
  const text = readFileSync(path, 'utf8');
  const mode = (is.mode & 0o111) === 0 ? '' : ' (program)';
  return `== ${name}${mode}\n${text}${text === '' || text.endsWith('\n') ? '' : '\n'}`;
}
