/** Every path below the runs directory that all of its runs share, defined once. Runs themselves: `core/records/layout.ts`. */
import { join } from 'node:path';
import { sharedFolders } from '../core/records/names.ts';

/** `runsDir` is the runs directory. None of these folders exists before it is needed. */
export const fleetLayout = (runsDir: string) => {
  const queue = join(runsDir, sharedFolders.queue);
  const holds = join(runsDir, sharedFolders.holds);
  const spend = join(runsDir, sharedFolders.spend);
  const schedules = join(runsDir, sharedFolders.schedules);
  return {
    queue: {
      root: queue,
      /** Jobs that are due, one file each; so are the next two. */
      wait: join(queue, 'wait'),
      /** Jobs that are asleep until a time. */
      later: join(queue, 'later'),
      held: join(queue, 'held'),
      /** Jobs that workers have: a folder for each worker. */
      run: join(queue, 'run'),
      workers: join(queue, 'workers'),
      worker: (name: string) => join(queue, 'workers', `${name}.json`),
      /** Jobs on their way into the queue: their files are complete. */
      submitted: join(queue, 'submitted'),
      /** What processes write or change at the moment: a folder for each. */
      aside: join(queue, 'aside'),
      /** The places of labels with a cap: a folder for each place. */
      labels: join(queue, 'labels'),
      settings: join(queue, 'settings.json'),
      /** Names the database that has the jobs; missing if they are here. */
      database: join(queue, 'database.json'),
    },
    holds: {
      root: holds,
      /** The hold of an account, by its id. */
      hold: (id: string) => join(holds, `${id}.json`),
      /** A call that goes first when the hold's reset has come (milliseconds since 1970): the next number if the one before was left by
       *  a killed engine. */
      trial: (id: string, resetMs: number, number: number) => join(holds, `${id}.${resetMs}.${number}.try`),
    },
    spend: {
      root: spend,
      /** `day` as YYYY-MM-DD. */
      day: (day: string) => join(spend, day),
      run: (day: string, runId: string) => join(spend, day, `${runId}.json`),
    },
    schedules: {
      root: schedules,
      schedule: (name: string) => join(schedules, `${name}.json`),
      /** What workers have submitted for it; they alone write this, and people alone the schedule. */
      progress: (name: string) => join(schedules, 'progress', `${name}.json`),
      /** Why it submits nothing. */
      problem: (name: string) => join(schedules, 'problem', `${name}.json`),
    },
  };
};
export type FleetLayout = ReturnType<typeof fleetLayout>;
