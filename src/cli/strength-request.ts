/** Whether the node of a run that runs scenarios measures their strength too: variables that the engine sets. */
import { type Refusal, refused } from '../core/diagnostic.ts';
import { fraction } from '../core/settings/fraction.ts';
import { type AttributeType, count, duration } from '../core/settings/types.ts';
import type { CliIo } from './io.ts';

export type StrengthRequest = {
  /** How many mutants are judged at most. */
  readonly sample: number | undefined;
  readonly required: number | undefined;
  readonly build: string | undefined;
  readonly budgetMs: number | undefined;
  /** Milliseconds that this process may take. */
  readonly leftMs: number | undefined;
  /** The file for mutants that nothing noticed. */
  readonly survivors: string | undefined;
  /** The tree with which the run began. */
  readonly base: string | undefined;
  /** The folder of the run's history. */
  readonly history: string | undefined;
  /** `auto`: without a sandbox mutants run as they are. */
  readonly isolation: 'auto' | 'required';
};

/** What the environment asks for; undefined where nothing is to be measured. */
export function strengthRequest({ env }: Pick<CliIo, 'env'>): StrengthRequest | Refusal | undefined {
  const problems: Refusal[] = [];
  const read = <T>(name: string, type: AttributeType<T>): T | undefined => {
    const text = env[name] ?? '';
    if (text === '') return undefined;
    const value = type.read({ kind: 'string', text });
    if (value.ok) return value.value;
    problems.push(refused('scenario', `${name}=${text} ${value.why}`, `write ${type.wants}`));
    return undefined;
  };
  const sample = read('FACTORY_STRENGTH', count(1));
  const required = read('FACTORY_MIN_STRENGTH', fraction());
  const budgetMs = read('FACTORY_STRENGTH_BUDGET', duration());
  const leftMs = read('FACTORY_TIME_LEFT', duration());
  const [problem] = problems;
  if (problem !== undefined) return problem;
  if (sample === undefined && required === undefined) return undefined;
  return {
    ...{ sample, required, budgetMs, leftMs },
    build: env['FACTORY_STRENGTH_BUILD'] || undefined,
    survivors: env['FACTORY_SURVIVORS'] || undefined,
    base: env['FACTORY_BASE'] || undefined,
    history: env['FACTORY_HISTORY'] || undefined,
    isolation: env['FACTORY_ISOLATION'] === 'auto' ? 'auto' : 'required',
  };
}
