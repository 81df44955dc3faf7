/** The command lines that do what the page does: the API starts them, the page and its answers show them. */
import { quoteWord } from '../core/policy/words.ts';
import type { DeliverBody, ForkBody, ResumeBody, StartBody } from './contract.ts';

/** As a user types it: `--name=value` as two words where that means the same. */
export const typedCommand = (program: string, argv: readonly string[]): string =>
  [program, ...argv.flatMap(typedWords).map(quoteWord)].join(' ');

function typedWords(word: string): readonly string[] {
  const [, flag, value] = /^(--[a-z-]+)=([^-].*)$/s.exec(word) ?? [];
  return flag === undefined || value === undefined ? [word] : [flag, value];
}

export const startArguments = ({ pipeline, vars, agent, model, limits }: StartBody): readonly string[] => [
  'run',
  pipeline.startsWith('-') ? `./${pipeline}` : pipeline,
  ...Object.entries(vars).map(([name, value]) => `--var=${name}=${value}`),
  ...flagWords({ agent, model, ...limits }),
];

export const resumeArguments = (run: string, { limits, ...flags }: ResumeBody): readonly string[] => [
  'resume',
  run,
  ...flagWords({ ...flags, ...limits }),
];

export const forkArguments = (run: string, { at, before }: ForkBody): readonly string[] => [
  'fork',
  run,
  ...flagWords({ at, before }),
];

/** Without the branch that is the default. */
export const deliverArguments = (
  run: string,
  { branch, ...flags }: Partial<DeliverBody>,
): readonly string[] => [
  'deliver',
  run,
  ...flagWords({ ...(branch === `factory/${run}` ? {} : { branch }), ...flags }),
];

/** `--name=value` for each value, `--name` for true: a value is never read as another flag. */
const flagWords = (
  flags: Readonly<Record<string, string | number | boolean | undefined>>,
): readonly string[] =>
  Object.entries(flags).flatMap(([name, value]) => {
    const flag = `--${name.replaceAll('_', '-')}`;
    return value === undefined || value === false ? [] : [value === true ? flag : `${flag}=${value}`];
  });
