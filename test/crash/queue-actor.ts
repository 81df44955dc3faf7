/** A process that works on a queue, with faults: `story RUNSDIR` makes every call once, `worker RUNSDIR GROUND SEED` takes jobs until
 *  the file GROUND/stop is there, `stranger RUNSDIR` is a worker of another host. */
import './faults/faults.ts';

const [what = '', runsDir = '', ground = '', seed = ''] = process.argv.slice(2);
const { story } = await import('./queue-story.ts');
const { stranger, work } = await import('./queue-work.ts');
if (what === 'story') await story(runsDir);
else if (what === 'stranger') await stranger(runsDir);
else await work(runsDir, ground, Number(seed));
