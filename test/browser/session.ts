/** A made session of an agent. */

import type { ExecutionRow } from '../../src/app/inspect/execution-shapes.ts';
import type { Session } from '../../src/app/inspect/session-shape.ts';
import { sessionOf } from '../../src/core/session.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 10, 27, 8, 0, second)).toISOString();

/** Two turns with a call that failed. */
export function madeSession(row: ExecutionRow): Session {
  const { turns, items, ...folded } = sessionOf(
    [
      { type: 'start', agent: 'codex', model: 'gpt-5.2', at: at(0) },
      { type: 'turn', at: at(0) },
      { type: 'reasoning', text: 'The links are read twice. '.repeat(30), at: at(2) },
      { type: 'call', id: '1', name: 'command', detail: 'npm test -- links', at: at(3) },
      { type: 'result', id: '1', ok: false, output: 'not ok 3 - finds a broken anchor\nexit 1', at: at(5) },
      { type: 'usage', input_tokens: 12_400, output_tokens: 812 },
      { type: 'turn', at: at(5) },
      { type: 'text', text: 'The anchor is compared before it is decoded.', at: at(9) },
    ],
    true,
  );
  const { node, visit, state, attempts, usage, cost_usd } = row;
  return {
    ...{ schema_version: 1, node, visit, state, attempts, source: 'events', usage, cost_usd },
    ...{ agent: folded.agent, model: folded.model, first_ms: folded.first_ms, withheld: false },
    counts: { turns: 2, calls: 1, failed: 1, items: items.length },
    turns: turns.map((turn) => ({ ...turn, cost_usd: null })),
    items: items.map((item, number) => ({
      ...{ ...item, number, cut: false },
      call: item.call && { ...item.call, output_lines: 2 },
    })),
  };
}
