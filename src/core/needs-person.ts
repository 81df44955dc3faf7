/** Which jobs of a queue wait for a person. Apart from the schemas of what the queue answers with, which the page does not load. */
import type { QueueJobRow } from './records/queue-report.ts';

/** Whether the job waits for a person who has not decided that it should: one who holds or stops a job knows of it. A question with a
 *  deadline sleeps until then. */
export const needsPerson = ({ state, reason }: Pick<QueueJobRow, 'state' | 'reason'>): boolean =>
  (state === 'held' && (reason === 'question' || reason === 'attention')) ||
  (state === 'later' && reason === 'question');
