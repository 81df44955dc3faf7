/** The command line of `npm run crash`. */
import { parseArgs } from 'node:util';
import { actions } from './faults/plan.ts';

export type Flags = {
  readonly help: boolean;
  readonly story: string | undefined;
  readonly point: string | undefined;
  /** Empty for all. */
  readonly actions: readonly string[];
  readonly who: string | undefined;
  /** One point of so many. */
  readonly every: number;
  readonly seed: number;
  readonly jobs: number;
  readonly list: boolean;
};

export const usage = (stories: readonly string[]): string => `usage: npm run crash -- [FLAG …]
  --story NAME      one of ${stories.join(', ')}; all of them otherwise
  --every N         one point of N, which one by the seed; all of them otherwise, each of
                    which takes a second or two
  --action A,B      only these faults: ${actions.join(', ')}
  --who WHO         only in the engine, or in a program that a stage runs (tool, or tool1, tool2, …)
  --point STORY:WHO:KIND:K:ACTION
                    one point, as a failure names it; also one that the matrix leaves out
  --seed S          decides what a power cut takes, where a resume is killed again, and which of several equivalent
                    points is in the matrix (1)
  --jobs J          so many at a time (2)
  --list            names the points with their operations and carries none out

The matrix has every fault at each write, flush, rename and link of what a run is resumed from (journal, snapshots, sealed
holdout, manifest, lock, git), and one fault for each other file of an execution, each program and each flush of a tree.
`;

/** The flags, or the reason why they are invalid. */
export function readFlags(
  argv: readonly string[],
  stories: readonly string[],
): Flags | { readonly problem: string } {
  let values: ReturnType<typeof parse>;
  try {
    values = parse(argv);
  } catch (error) {
    return { problem: (error as Error).message };
  }
  const unknown = (flag: string, word: string, words: readonly string[]) => ({
    problem: `${flag} names "${word}", which is none of ${words.join(', ')}`,
  });
  const story = values.story ?? values.point?.split(':')[0];
  if (story !== undefined && !stories.includes(story)) return unknown('the story', story, stories);
  const chosen = values.action?.split(',') ?? [];
  const strange = chosen.find((one) => !actions.some((action) => action === one));
  if (strange !== undefined) return unknown('--action', strange, actions);
  const number = (text: string | undefined, otherwise: number) =>
    text === undefined ? otherwise : Number(text);
  const [every, seed, jobs] = [number(values.every, 1), number(values.seed, 1), number(values.jobs, 2)];
  for (const [flag, value, least] of [
    ['--every', every, 1],
    ['--seed', seed, 0],
    ['--jobs', jobs, 1],
  ] as const)
    if (!Number.isSafeInteger(value) || value < least)
      return { problem: `${flag}: give a whole number of at least ${least}` };
  const { point, who, help, list } = values;
  return { help, story, point, actions: chosen, who, every, seed, jobs, list };
}

const parse = (argv: readonly string[]) =>
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
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  }).values;
