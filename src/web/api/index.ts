/** Every endpoint's function. */
import type { Handlers } from '../web.ts';
import { actsApi } from './acts.ts';
import { answersApi } from './answers.ts';
import { changesApi } from './changes.ts';
import { eventsApi } from './events.ts';
import { executionsApi } from './executions.ts';
import { folderApi } from './folder.ts';
import { picturesApi } from './pictures.ts';
import { queueApi } from './queue.ts';
import { queueActsApi } from './queue-acts.ts';
import { runsApi } from './runs.ts';
import { startApi } from './start.ts';

export const handlers: Handlers = {
  ...runsApi,
  ...executionsApi,
  ...changesApi,
  ...eventsApi,
  ...picturesApi,
  ...queueApi,
  ...queueActsApi,
  ...folderApi,
  ...startApi,
  ...actsApi,
  ...answersApi,
};
