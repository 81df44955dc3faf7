/** What a run changed in its workspace, file by file. */
import { listChanges } from '../../app/change-list.ts';
import { type Handlers, refusal } from '../web.ts';

export const changesApi: Pick<Handlers, 'changes'> = {
  changes: async ({ web, run, query: { path, ...moments } }) => {
    const list = await listChanges(run.dir, { ...moments, paths: path === undefined ? [] : [path] }, web.env);
    if (!('problems' in list)) return list;
    return refusal(list, ['usage', 'no-visit'].includes(list.problems[0]?.code ?? '') ? 400 : 409);
  },
};
