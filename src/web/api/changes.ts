/** What a run changed in its workspace, file by file; and two runs side by side. */
import { listChanges } from '../../app/change-list.ts';
import { compareRunsIn } from '../../app/compare/index.ts';
import { type Handlers, notFound, refusal, servedRun } from '../web.ts';

export const changesApi: Pick<Handlers, 'changes' | 'compare'> = {
  changes: async ({ web, run, query: { path, ...moments } }) => {
    const list = await listChanges(run.dir, { ...moments, paths: path === undefined ? [] : [path] }, web.env);
    if (!('problems' in list)) return list;
    return refusal(list, ['usage', 'no-visit'].includes(list.problems[0]?.code ?? '') ? 400 : 409);
  },
  compare: async ({ web, query: { a, b } }) => {
    const [first, second] = [servedRun(web, a), servedRun(web, b)];
    if (first === undefined || second === undefined)
      return notFound(`there is no run ${first === undefined ? a : b}`, 'GET /api/v1/runs lists the runs');
    const comparison = await compareRunsIn([first.dir, second.dir], web);
    return 'problems' in comparison ? refusal(comparison) : comparison;
  },
};
