/** Command lines as a user types them: what a request to the API does, and what an answer proposes. */
import { quoteWord } from '../core/policy/words.ts';

/** `--name=value` as two words where that means the same. */
export const typedCommand = (program: string, argv: readonly string[]): string =>
  [program, ...argv.flatMap(typedWords).map(quoteWord)].join(' ');

function typedWords(word: string): readonly string[] {
  const [, flag, value] = /^(--[a-z-]+)=([^-].*)$/s.exec(word) ?? [];
  return flag === undefined || value === undefined ? [word] : [flag, value];
}

/** `--name=value` for each value, `--name` for true: a value is never read as another flag. */
export const flagWords = (
  flags: Readonly<Record<string, string | number | boolean | undefined>>,
): readonly string[] =>
  Object.entries(flags).flatMap(([name, value]) => {
    const flag = `--${name.replaceAll('_', '-')}`;
    return value === undefined || value === false ? [] : [value === true ? flag : `${flag}=${value}`];
  });

/** How a run is delivered. */
export type DeliveryFlags = {
  /** New branch in the source repository. */
  readonly branch?: string;
  /** A repository in this new or empty directory instead. */
  readonly to?: string;
  /** Fast-forward an existing branch. */
  readonly reuse?: boolean;
  /** Push the branch to the first remote. */
  readonly push?: boolean;
  /** Deliver a run whose success is overridden. */
  readonly overridden?: boolean;
  /** Deliver a run whose only failure is that its scenarios are too weak. */
  readonly accept_weak?: boolean;
};

/** Without the branch that is the default. */
export const deliverArguments = (
  run: string,
  { branch, to, reuse, push, overridden, accept_weak }: DeliveryFlags,
): readonly string[] => [
  'deliver',
  run,
  ...flagWords({
    ...(branch === `factory/${run}` ? {} : { branch }),
    ...{ to, reuse, push, overridden, accept_weak },
  }),
];
