/** A specification that is a folder of several files, as two tools for writing specifications lay it out: one text for the planner.
 *  Layouts: https://github.com/github/spec-kit, https://github.com/Fission-AI/OpenSpec */
import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fenced } from '../core/fence.ts';

/** Reads a file of the folder; what is wrong with it otherwise. */
export type ReadPart = (
  path: string,
) => Promise<{ readonly text: string } | { readonly problem: string; readonly fix?: string }>;

type Part = {
  /** Relative to the folder, or from above it as people know it. */
  readonly name: string;
  readonly path: string;
  /** What it is for the planner. */
  readonly role: string;
};

const mainFiles = ['spec.md', 'proposal.md'] as const;

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
/** A regular file to which no link leads, neither it nor a folder on the way: it could be no part of the specification. */
const isPlainFile = (folder: string, name: string): boolean =>
  lstatSync(join(folder, name), { throwIfNoEntry: false })?.isFile() === true &&
  realpathSync(join(folder, name)) === join(realpathSync(folder), name);
const isPlainFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The main file of a folder that is a specification; undefined for any other folder. */
export const mainFileOf = (folder: string): string | undefined =>
  mainFiles.find((name) => isPlainFile(folder, name));

/** The whole specification: its main file, then each other file under a heading that says what it is. */
export async function readSpecFolder(folder: string, read: ReadPart): ReturnType<ReadPart> {
  const main = mainFileOf(folder);
  if (main === undefined)
    return {
      problem: `${folder} is a folder, not a file`,
      fix: `name a file in it; a folder is a specification if it has ${mainFiles.join(' or ')}`,
    };
  const first = await read(join(folder, main));
  if ('problem' in first) return first;
  const texts = [first.text.trimEnd()];
  const parts = main === 'spec.md' ? featureParts(folder) : changeParts(folder);
  for (const { name, path, role } of parts) {
    const part = await read(path);
    if ('problem' in part) return part;
    texts.push(`---\n\nFile ${name}: ${role}\n\n${quoted(name, part.text.trimEnd())}`);
  }
  return { text: `${texts.join('\n\n')}\n` };
}

/** Markdown unchanged; other texts as code. */
const quoted = (name: string, text: string): string =>
  ['.md', '.markdown'].includes(extname(name)) ? text : fenced(text, extname(name).slice(1));

/** `specs/001-name/` of spec-kit. */
function featureParts(folder: string): readonly Part[] {
  const constitution = above(folder, [
    join('.specify', 'memory', 'constitution.md'),
    join('memory', 'constitution.md'),
  ]);
  return [
    ...(constitution === undefined
      ? []
      : [{ ...constitution, role: 'rules of the project, which hold for every change' }]),
    ...ifThere(folder, 'plan.md', 'how it is to be built'),
    ...ifThere(folder, 'data-model.md', 'the data'),
    ...filesBelow(folder, 'contracts').map((name) => ({
      ...{ name, path: join(folder, name) },
      role: 'an interface that the product has to keep',
    })),
    ...tasksIn(folder),
  ];
}

/** `openspec/changes/NAME/` of OpenSpec: what changes (the deltas), and what holds today. */
function changeParts(folder: string): readonly Part[] {
  const project = resolve(folder, '..', '..');
  const deltas = filesBelow(folder, 'specs').filter((name) => basename(name) === 'spec.md');
  return [
    ...ifThere(folder, 'design.md', 'how it is to be built'),
    ...deltas.flatMap((name) => {
      const capability = dirname(name).replace(/^specs[\\/]/, '');
      const today = join('specs', capability, 'spec.md');
      return [
        ...(isPlainFile(project, today)
          ? [
              {
                name: `today's specs/${capability}/spec.md`,
                path: join(project, today),
                role: 'requirements before this change',
              },
            ]
          : []),
        {
          ...{ name, path: join(folder, name) },
          role: 'requirements that this change adds, modifies, removes or renames',
        },
      ];
    }),
    ...tasksIn(folder),
  ];
}

const tasksIn = (folder: string): readonly Part[] =>
  ifThere(folder, 'tasks.md', 'advice of another planner, not work orders; the files before it win');

const ifThere = (folder: string, name: string, role: string): readonly Part[] =>
  isPlainFile(folder, name) ? [{ name, path: join(folder, name), role }] : [];

/** The regular files below a subfolder, by name, relative to the folder. */
function filesBelow(folder: string, name: string): readonly string[] {
  if (!isPlainFolder(join(folder, name))) return [];
  return readdirSync(join(folder, name), { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${name}/${entry.name}`;
      return entry.isDirectory() ? filesBelow(folder, path) : entry.isFile() ? [path] : [];
    });
}

/** The first of the files in the folder or above it, up to the top of the repository. Without a repository up to the folder above
 *  `specs`, where both tools put a project: files further up may be other people's. */
function above(folder: string, names: readonly string[]): Pick<Part, 'name' | 'path'> | undefined {
  const folders = upwards(resolve(folder));
  const top = folders.findIndex((at) => isThere(join(at, '.git')));
  for (const at of folders.slice(0, (top === -1 ? 2 : top) + 1)) {
    const name = names.find((one) => isPlainFile(at, one));
    if (name !== undefined) return { name: basename(name), path: join(at, name) };
  }
  return undefined;
}

const upwards = (folder: string): readonly string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...upwards(dirname(folder))];
