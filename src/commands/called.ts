/** How the user called us, so that a command we print can be typed as it stands. */
import { constants, realpathSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { quoteWord } from '../policy/words.ts';
import { allows } from '../system/read.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** `factory` where PATH has this very program, `npx factory` below npx or where a package manager runs a script, else
 *  `node …/dist/cli.js`. `script` is the file that Node was given. */
export function programWords(script: string, env: Environment, cwd: string): string {
  const byNpx =
    env['npm_command'] === 'exec' && /^['"]?factory['"]?(?:\s|$)/.test(env['npm_lifecycle_script'] ?? '');
  if (byNpx) return 'npx factory';
  const ours = realOf(script);
  // A pipeline's tools find us by the folder that the engine puts first, as anybody finds a program.
  const onPath = (env['PATH'] ?? '').split(delimiter).filter((folder) => {
    if (folder === '') return false;
    const path = join(folder, 'factory');
    return isProgram(path) && [ours, join(dirname(ours), 'bin/factory')].includes(realOf(path));
  });
  // `npm run` and `yarn` put a project's programs on the PATH of its scripts, and not on that of the user's shell.
  const lent = (folder: string) =>
    env['npm_lifecycle_event'] !== undefined && /node_modules\/\.bin\/?$/.test(folder);
  if (onPath.some((folder) => !lent(folder)) || script === '') return 'factory';
  if (onPath.length > 0) return 'npx factory';
  const near = relative(cwd, script);
  return `node ${quoteWord(near.startsWith('..') ? script : near)}`;
}

/** The command line again, for a new run of the same: without the id of this one. Undefined for what begins no run: a
 *  resume does not say what its run was to do. */
export function sameAgain(program: string, argv: readonly string[]): string | undefined {
  if (!/^(?:run|order)$/.test(argv.find((word) => !word.startsWith('-')) ?? '')) return undefined;
  if (argv.some((word) => /^--?resume$/.test(word))) return undefined;
  const words: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (/^--?run-id$/.test(word)) at++;
    else if (!/^--?run-id=/.test(word)) words.push(quoteWord(word));
  }
  return [program, ...words].join(' ');
}

const verbs =
  'run|runs|resume|fork|replay|record|checkout|diff|deliver|doctor|show|logs|trace|audit|verify|validate|fmt|explain|plan|order|scenario';
const commands = new RegExp(`(?<![\\w/.-])factory (?=(?:${verbs})\\b|--help)`, 'g');

/** A text with the commands it names put as the user must type them. */
export const asCalled = (text: string, program: string | undefined): string =>
  program === undefined ? text : text.replace(commands, () => `${program} `);

const isProgram = (path: string): boolean => allows(path, constants.X_OK);

const realOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};
