/** What a run did in a node, in few words: for its card in pictures and on the page. */
import { elapsedWords, usdWords } from '../../core/amounts.ts';
import type { GraphView } from '../inspect/graph-shapes.ts';

type Ran = Pick<GraphView['nodes'][number], 'type' | 'executions' | 'took_ms' | 'cost_usd' | 'calls'>;

/** `×2`, `1.2s`, `0.02 USD`; the most important first. */
export const ranWords = ({ type, executions, took_ms, cost_usd, calls }: Ran): readonly string[] => [
  ...(executions > 1 ? [`×${executions}`] : []),
  ...(executions > 0 && type !== 'start' && type !== 'exit' ? [elapsedWords(took_ms)] : []),
  ...(calls === 0 ? [] : [cost_usd === null ? 'cost unknown' : usdWords(cost_usd)]),
];
