/** What the folder of the server offers for a new run: pipelines, and files as values of their variables. */
import type { Dirent } from 'node:fs';
import { lstatSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { estimateOf } from '../../app/estimate.ts';
import { namedPipelines, pipelineList } from '../../app/pipelines.ts';
import { isCode, isMissing } from '../../platform/files/write.ts';
import { realOrSame } from '../../workspace/roots.ts';
import type { FolderFiles } from '../contract.ts';
import { offeredPlace } from '../offered-places.ts';
import { isOfferedPipeline, projectOf } from '../start-request.ts';
import { type Handlers, notFound, problem, type Web } from '../web.ts';

const mostFiles = 2000;
/** Folders that are looked into, so that a large tree does not hold the server up. */
const mostFolders = 500;
/** Folders of programs and libraries, which have no specs. */
const passedOver = ['node_modules', '__pycache__', 'target', 'dist', 'build', 'venv'];

export const folderApi: Pick<Handlers, 'folders' | 'pipelines' | 'estimate' | 'files'> = {
  folders: async ({ web }) => {
    const folders = web.roots.filter((root) => realOrSame(root) === root);
    const more = addFolders(folders, web);
    return { folders: [...new Set(folders)].sort(), more };
  },
  pipelines: async ({ web, query }) => {
    const project = projectOf(query.project, web);
    return project instanceof Response
      ? project
      : pipelineList(project.cwd, { isOffered: isOfferedPipeline(project.cwd, web), inert: true });
  },
  estimate: async ({ web, query }) => {
    const project = projectOf(query.project, web);
    if (project instanceof Response) return project;
    const offered = namedPipelines(project.cwd).filter(isOfferedPipeline(project.cwd, web));
    const named = offered.find(({ name }) => name === query.pipeline);
    return named === undefined
      ? notFound(`there is no pipeline ${query.pipeline}`, 'see GET /api/v1/pipelines')
      : estimateOf(named.file, await web.runs.latest());
  },
  files: async ({ web, query }) => {
    const project = projectOf(query.project, web);
    if (project instanceof Response) return project;
    const under = posix.normalize(query.under === '' ? '.' : query.under).replace(/\/$/, '');
    const isInside = under === '.' || under.split('/').every((name) => name !== '' && !name.startsWith('.'));
    return isInside
      ? filesBelow(project.cwd, under === '.' ? '' : under, web)
      : problem(400, 'bad-request', `"${query.under}" is no folder that this server offers`);
  },
};

/** Adds what is below the folders, those of the top first; true where some were left out. */
function addFolders(folders: string[], web: Web): boolean {
  for (const folder of folders) {
    for (const { name } of entriesOf(folder, '').filter(isSearched)) {
      const path = join(folder, name);
      if ('real' in offeredPlace(path, folder, 'folder', web)) folders.push(path);
      if (folders.length >= mostFolders) return true;
    }
  }
  return false;
}

const isSearched = (entry: Dirent): boolean => entry.isDirectory() && !passedOver.includes(entry.name);

/** Plain files, folders of the top first; no links, no names that begin with a dot. */
function filesBelow(root: string, under: string, web: Web): FolderFiles {
  const files: FolderFiles['files'] = [];
  const folders = [under];
  for (const folder of folders) {
    // Neither the runs directory nor a holdout is looked into.
    if ('why' in offeredPlace(join(root, folder), root, 'folder', web)) continue;
    for (const entry of entriesOf(root, folder)) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (isSearched(entry)) folders.push(path);
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
