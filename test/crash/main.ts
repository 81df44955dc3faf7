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

/** Answers the exit code. `root` is the repository. */
export async function main(argv: readonly string[], root: string): Promise<number> {
  const { values } = parseArgs({
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
  });
  const say = (text: string) => void process.stdout.write(text);
  if (values.help === true) {
    say(usage);
    return 0;
  }
  const seed = Number(values.seed ?? '1');
  const folder = await mkdtemp(join(tmpdir(), 'crash-cli-'));
  let passed = 0;
  let failed = 0;
  try {
    const cli = await bundle(root, folder);
    const all = await stories((path) => readFile(join(root, path), 'utf8'));
    const only = values.story ?? values.point?.split(':')[0];
    for (const story of all.filter((one) => only === undefined || one.name === only)) {
      const base = await baseline(cli, story);
      const every = Number(values.every ?? (values.point === undefined ? story.every : 1));
      const points = pointsOf(base)
        .filter((point) => values.point === undefined || spell(point) === values.point)
        .filter((point) => values.action === undefined || values.action.split(',').includes(point.action))
        .filter((point) => values.who === undefined || point.who.startsWith(values.who))
        .filter((_, at) => at % every === seed % every);
      say(`${story.name}: ${points.length} of ${pointsOf(base).length} points\n`);
      if (values.list === true) {
        for (const point of points) say(`  ${spell(point)}\n`);
        continue;
      }
      let at = 0;
      const next = async (): Promise<void> => {
        for (let point = points[at++]; point !== undefined; point = points[at++]) {
          const { fired, wrong } = await carryOut(cli, base, point, seedOf(point, seed));
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
  say(`${passed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}
