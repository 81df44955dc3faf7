/** What a verb of the command line is. */
import type { Option } from 'commander';
import type { Refusal } from '../core/diagnostic.ts';

/** What a verb answers with: an exit code, or why it did nothing. */
export type VerbResult = number | (Refusal & { readonly more?: object });

type ExitCodes = Readonly<Record<number, string>>;

/** Of verbs that execute a run. */
export const exitsOfRun: ExitCodes = {
  0: 'success',
  1: 'the run failed',
  2: 'invalid text, flags or missing prerequisite; nothing was started',
  3: "the run failed because of the model's API or network",
  4: 'the run failed because of unparseable model output',
  5: 'success in spite of a failure, by the answer of a person (overridden)',
  75: 'suspended (question, quota, outage, cap per day, key, full disk): factory why RUN says what to do',
  130: 'interrupted',
};

export type Verb = {
  /** Its name and arguments. */
  readonly usage: string;
  readonly about: string;
  /** Command lines behind `factory`. */
  readonly examples?: readonly string[];
  /** Its exit codes, where they mean something else than 0 success and 2 nothing was done. */
  readonly exits?: ExitCodes;
  readonly options: () => readonly Option[];
  /** The function that carries it out: it receives the arguments, the options and the process. */
  readonly load: () => Promise<(...given: never[]) => Promise<VerbResult>>;
};

/** Several verbs below one word. */
export type Group = {
  readonly usage: string;
  readonly about: string;
  readonly examples?: readonly string[];
  readonly exits?: ExitCodes;
  readonly verbs: readonly Verb[];
  /** What the word does by itself. */
  readonly self?: Verb;
};
