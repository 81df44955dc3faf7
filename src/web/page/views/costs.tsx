/** Time, tokens and cost of a run by node and by model. */
import type { ExecutionRow } from '../../../app/inspect/execution-shapes.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { costWords, countedItems, usdWords } from '../../../core/amounts.ts';
import { executionPath } from '../selection.ts';
import { durationText, tokensText } from '../text/format.ts';

interface Sum {
  readonly name: string;
  executions: number;
  took: number;
  model: number;
  waited: number;
  input: number;
  output: number;
  cost: number;
  /** Executions with model calls whose cost is not known. */
  unknown: number;
  calls: boolean;
}

export function CostPanel({ run }: { run: RunView }) {
  const nodes = sums(run.executions, ({ node }) => node).sort((a, b) => b.cost - a.cost || b.took - a.took);
  const models = sums(
    run.executions.filter(({ usage }) => usage !== null),
    ({ usage }) => usage?.model ?? '',
  );
  const { spent } = run;
  return (
    <div class="costs">
      <p>
        <strong>{costWords(spent)}</strong> for {countedItems(spent.calls, 'model call')},{' '}
        {tokensText(spent.input_tokens)} tokens in
        {spent.cached_input_tokens > 0 && ` (${tokensText(spent.cached_input_tokens)} cached)`},{' '}
        {tokensText(spent.output_tokens)} out
        {spent.unknown_cost > 0 && ` · the cost of ${countedItems(spent.unknown_cost, 'call')} is unknown`}
      </p>
      <Table title="Node" rows={nodes} href={(node) => executionPath(run.run_id, node)} />
      {models.length > 0 && <Table title="Model" rows={models} />}
    </div>
  );
}

function sums(rows: readonly ExecutionRow[], name: (row: ExecutionRow) => string): Sum[] {
  const all = new Map<string, Sum>();
  for (const row of rows) {
    const key = name(row);
    const sum = all.get(key) ?? {
      ...{ name: key, executions: 0, took: 0, model: 0, waited: 0, input: 0, output: 0, cost: 0 },
      ...{ unknown: 0, calls: false },
    };
    all.set(key, sum);
    sum.executions++;
    sum.took += row.took_ms;
    sum.model += row.model_ms;
    sum.waited += row.waited_ms;
    sum.input += row.usage?.input_tokens ?? 0;
    sum.output += row.usage?.output_tokens ?? 0;
    sum.cost += row.cost_usd ?? 0;
    if (row.usage !== null) {
      sum.calls = true;
      if (row.cost_usd === null) sum.unknown++;
    }
  }
  return [...all.values()];
}

function Table({
  title,
  rows,
  href,
}: {
  title: string;
  rows: readonly Sum[];
  href?: (name: string) => string;
}) {
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th>{title}</th>
            <th class="right">Executions</th>
            <th class="right">Time</th>
            <th class="right">Model</th>
            <th class="right">Waits</th>
            <th class="right">Tokens in</th>
            <th class="right">Tokens out</th>
            <th class="right">Cost</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td>{href === undefined ? row.name : <a href={href(row.name)}>{row.name}</a>}</td>
              <td class="number right">{row.executions}</td>
              <td class="number right">{durationText(row.took)}</td>
              <td class="number right">{row.model > 0 ? durationText(row.model) : ''}</td>
              <td class="number right">{row.waited > 0 ? durationText(row.waited) : ''}</td>
              <td class="number right">{row.calls ? tokensText(row.input) : ''}</td>
              <td class="number right">{row.calls ? tokensText(row.output) : ''}</td>
              <td class="number right">
                {!row.calls
                  ? ''
                  : row.unknown > 0
                    ? costWords({ cost_usd: row.cost, unknown_cost: row.unknown })
                    : usdWords(row.cost)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
