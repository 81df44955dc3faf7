/** What a verb of the command line is. */
import type { Option } from 'commander';
import type { Refusal } from '../core/diagnostic.ts';

/** What a verb answers with: an exit code, or why it did nothing. */
export type VerbResult = number | (Refusal & { readonly more?: object });

export type Verb = {
  /** Its name and arguments. */
  readonly usage: string;
  readonly about: string;
  readonly options: () => readonly Option[];
  /** The function that carries it out: it receives the arguments, the options and the process. */
  readonly load: () => Promise<(...given: never[]) => Promise<VerbResult>>;
};

/** Several verbs below one word. */
export type Group = {
  readonly usage: string;
  readonly about: string;
  readonly verbs: readonly Verb[];
  /** What the word does by itself. */
  readonly self?: Verb;
};
