/** What the folder of the server offers for a new run: pipelines, and files as values of their variables. */
import type { Dirent } from 'node:fs';
import { lstatSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { pipelineList } from '../../app/pipelines.ts';
import { isCode, isMissing } from '../../platform/files/write.ts';
import type { FolderFiles } from '../contract.ts';
import { type Handlers, problem } from '../web.ts';

const mostFiles = 2000;
/** Folders that are looked into, so that a large tree does not hold the server up. */
const mostFolders = 500;
/** Folders of programs and libraries, which have no specs. */
const passedOver = ['node_modules', '__pycache__', 'target', 'dist', 'build', 'venv'];

export const folderApi: Pick<Handlers, 'pipelines' | 'files'> = {
  pipelines: ({ web }) => pipelineList(web.cwd),
  files: async ({ web, query }) => {
    const under = posix.normalize(query.under === '' ? '.' : query.under).replace(/\/$/, '');
    const isInside = under === '.' || under.split('/').every((name) => name !== '' && !name.startsWith('.'));
    return isInside
      ? filesBelow(web.cwd, under === '.' ? '' : under)
      : problem(400, 'bad-request', `"${query.under}" is no folder that this server offers`);
  },
};

/** Plain files, folders of the top first; no links, no names that begin with a dot. */
function filesBelow(root: string, under: string): FolderFiles {
  const files: FolderFiles['files'] = [];
  const folders = [under];
  for (const folder of folders) {
    for (const entry of entriesOf(root, folder)) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && !passedOver.includes(entry.name)) folders.push(path);
      const is = entry.isFile() ? lstatSync(join(root, path), { throwIfNoEntry: false }) : undefined;
      if (is?.isFile() === true) files.push({ path, bytes: is.size });
    }
    if (files.length >= mostFiles || folders.indexOf(folder) >= mostFolders)
      return { files: sorted(files).slice(0, mostFiles), more: true };
  }
  return { files: sorted(files), more: false };
}

const sorted = (files: FolderFiles['files']): FolderFiles['files'] =>
  files.sort((a, b) => (a.path < b.path ? -1 : 1));

/** The entries that are offered; none of a folder that is reached by a link, is missing or may not be read. */
function entriesOf(root: string, folder: string): Dirent[] {
  try {
    for (let at = folder; at !== '' && at !== '.'; at = posix.dirname(at))
      if (!lstatSync(join(root, at)).isDirectory()) return [];
    return readdirSync(join(root, folder), { withFileTypes: true }).filter(
      ({ name }) => !name.startsWith('.') && !name.includes('\uFFFD'),
    );
  } catch (error) {
    if (isMissing(error) || isCode(error, 'EACCES', 'ENOTDIR')) return [];
    throw error;
  }
}
