/** Command lines that do what a form does. */
import { quoteArgument } from '../../../core/policy/words.ts';
import type { DeliverBody, ForkBody, StartBody } from '../../contract.ts';

const line = (...words: readonly string[]): string => ['factory', ...words.map(quoteArgument)].join(' ');

/** The flags of limits, by the names of the API. */
const limitFlags = {
  max_cost_usd: '--max-cost-usd',
  max_tokens: '--max-tokens',
  max_steps: '--max-steps',
  max_wall: '--max-wall',
} as const;

export function startLine({ pipeline, vars, agent, model, limits }: StartBody): string {
  return line(
    'run',
    pipeline,
    ...Object.entries(vars).flatMap(([name, value]) => ['--var', `${name}=${value}`]),
    ...(agent === undefined ? [] : ['--agent', agent]),
    ...(model === undefined ? [] : ['--model', model]),
    ...Object.entries(limitFlags).flatMap(([name, flag]) => {
      const value = limits[name as keyof typeof limitFlags];
      return value === undefined ? [] : [flag, String(value)];
    }),
  );
}

export const forkLine = (run: string, { at, before }: ForkBody): string =>
  line('fork', run, '--at', at, ...(before ? ['--before'] : []));

export const deliverLine = (run: string, { branch, to, reuse, push }: Partial<DeliverBody>): string =>
  line(
    'deliver',
    run,
    ...(to === undefined ? [] : ['--to', to]),
    ...(branch === undefined || branch === `factory/${run}` ? [] : ['--branch', branch]),
    ...(reuse === true ? ['--reuse'] : []),
    ...(push === true ? ['--push'] : []),
  );
