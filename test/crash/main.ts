/** `npm run crash`: the matrix, or a part of it. Each failing point is told with the command that repeats it. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle } from './bundle.ts';
import { baseline, carryOut, pointsOf, seedOf, spell } from './matrix.ts';
import { stories } from './stories.ts';

const usage = `npm run crash -- [--story NAME] [--point STORY:WHO:KIND:K:ACTION] [--action A,B] [--who engine|tool]
                [--every N] [--seed S] [--jobs J] [--list]
`;

const read = (argv: readonly string[]) =>
  parseArgs({
    args: [...argv],
    options: {
      story: { type: 'string' },
      point: { type: 'string' },
      action: { type: 'string' },
      who: { type: 'string' },
      every: { type: 'string' },
      seed: { type: 'string' },
      jobs: { type: 'string' },
      list: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  }).values;

/** Flags that take a number of at least one. */
const counts = ['every', 'seed', 'jobs'] as const;

/** Answers the exit code: 0 all points passed, 1 one failed, 2 a flag is wrong or no point is meant, 130 interrupted.
 *  `root` is the repository. */
export async function main(argv: readonly string[], root: string): Promise<number> {
  const say = (text: string) => void process.stdout.write(text);
  const wrong = (what: string): number => {
    process.stderr.write(`${what}\n${usage}`);
    return 2;
  };
  let values: ReturnType<typeof read>;
  try {
    values = read(argv);
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
  const bad = counts.find((name) => !/^[1-9]\d*$/.test(values[name] ?? '1'));
  if (bad !== undefined) return wrong(`--${bad} ${values[bad]} is not a whole number of at least 1`);
  if (values.help === true) {
    say(usage);
    return 0;
  }
  let stopped = false;
  const stop = () => {
    stopped = true;
    say('stopping after the points that are under way; a second signal stops at once\n');
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop);
  let meant = 0;
  const seed = Number(values.seed ?? '1');
  const folder = await mkdtemp(join(tmpdir(), 'crash-cli-'));
  let passed = 0;
  let failed = 0;
  try {
    const cli = await bundle(root, folder);
    const all = await stories((path) => readFile(join(root, path), 'utf8'));
    const only = values.story ?? values.point?.split(':')[0];
    for (const story of all.filter((one) => only === undefined || one.name === only)) {
      if (stopped) break;
      const base = await baseline(cli, story);
      const every = Number(values.every ?? (values.point === undefined ? story.every : 1));
      const points = pointsOf(base)
        .filter((point) => values.point === undefined || spell(point) === values.point)
        .filter((point) => values.action === undefined || values.action.split(',').includes(point.action))
        .filter((point) => values.who === undefined || point.who.startsWith(values.who))
        .filter((_, at) => at % every === seed % every);
      meant += points.length;
      say(`${story.name}: ${points.length} of ${pointsOf(base).length} points\n`);
      if (values.list === true) {
        for (const point of points) say(`  ${spell(point)}\n`);
        continue;
      }
      let at = 0;
      const next = async (): Promise<void> => {
        for (let point = points[at++]; point !== undefined && !stopped; point = points[at++]) {
          const { fired, wrong } = await carryOut(cli, base, point, seedOf(point, seed));
          // What the signal has hit too tells nothing.
          if (stopped) return;
          if (wrong.length === 0) passed++;
          else {
            failed++;
            say(`FAILED ${spell(point)} (${fired ?? 'did not come to it'})\n`);
            for (const one of wrong) say(`    ${one.replaceAll('\n', '\n    | ')}\n`);
            say(`    npm run crash -- --point ${spell(point)} --seed ${seed}\n`);
          }
          if ((passed + failed) % 20 === 0) say(`  ${passed + failed} done, ${failed} failed\n`);
        }
      };
      await Promise.all(Array.from({ length: Number(values.jobs ?? '2') }, next));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (meant === 0 && !stopped) return wrong('no point is meant by these flags: --list tells which there are');
  if (values.list === true) return 0;
  say(`${passed} passed, ${failed} failed\n`);
  if (stopped) return 130;
  return failed === 0 ? 0 : 1;
}
