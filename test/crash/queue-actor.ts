/** A process that works on a queue, with faults: `story RUNSDIR` makes every call once, `worker RUNSDIR GROUND SEED` takes jobs until
 *  the file GROUND/stop is there. */
import './faults/faults.ts';

const [what = '', runsDir = '', ground = '', seed = ''] = process.argv.slice(2);
const { story } = await import('./queue-story.ts');
const { work } = await import('./queue-work.ts');
await (what === 'story' ? story(runsDir) : work(runsDir, ground, Number(seed)));
