/** `npm run crash`: the matrix, or a part of it. Each failing point is printed with the command that repeats it. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from './bundle.ts';
import { readFlags, usage } from './flags.ts';
import { allPointsOf, baseline, carryOut, pointsOf, seedOf, spell } from './matrix.ts';
import { stories } from './stories.ts';

/** Returns the exit code: 0 all equal to the undisturbed run, 1 a difference, 2 invalid flags, 130
 *  interrupted. `root` is the repository. */
export async function main(argv: readonly string[], root: string): Promise<number> {
  const say = (text: string) => void process.stdout.write(text);
  const all = await stories((path) => readFile(join(root, path), 'utf8'));
  const names = all.map(({ name }) => name);
  const flags = readFlags(argv, names);
  if ('problem' in flags) {
    process.stderr.write(`${flags.problem}\n${usage(names)}`);
    return 2;
  }
  if (flags.help) {
    say(usage(names));
    return 0;
  }
  const { story: only, seed } = flags;
  let stopped = false;
  const stop = () => {
    if (!stopped) process.stderr.write('stopping, and removing what was made …\n');
    stopped = true;
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const folder = await mkdtemp(join(tmpdir(), 'crash-cli-'));
  let chosen = 0;
  let passed = 0;
  let failed = 0;
  try {
    const cli = await bundle(root, folder);
    for (const story of all.filter((one) => only === undefined || one.name === only)) {
      if (stopped) break;
      const base = await baseline(cli, story);
      const every = allPointsOf(base);
      const matrix = pointsOf(base, seed);
      const points = (flags.point === undefined ? matrix : every)
        .filter((point) => flags.point === undefined || spell(point) === flags.point)
        .filter((point) => flags.actions.length === 0 || flags.actions.includes(point.action))
        .filter((point) => flags.who === undefined || point.who.startsWith(flags.who))
        .filter((_, at) => at % flags.every === seed % flags.every);
      chosen += points.length;
      say(
        `${story.name}: ${points.length} of ${matrix.length} points (${every.length} with equivalent ones)\n`,
      );
      if (flags.list) {
        for (const point of points) say(`  ${spell(point)}  ${point.what}\n`);
        continue;
      }
      let at = 0;
      const next = async (): Promise<void> => {
        for (let point = points[at++]; point !== undefined && !stopped; point = points[at++]) {
          const { fired, wrong } = await carryOut(cli, base, point, seedOf(point, seed));
          // Its programs have received the signal too.
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
      await Promise.all(Array.from({ length: flags.jobs }, next));
    }
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    await rm(folder, { recursive: true, force: true });
  }
  if (chosen === 0) {
    process.stderr.write('no point is like that: see --list\n');
    return 2;
  }
  if (!flags.list) say(`${passed} passed, ${failed} failed\n`);
  if (stopped) return 130;
  return failed === 0 ? 0 : 1;
}
