/** `factory runs --days`: a row for each day on which something happened. */
import { inspectDays } from '../app/inspect/days.ts';
import { inspectRows } from '../app/inspect/run-list.ts';
import { costWords } from '../core/amounts.ts';
import { localZone } from '../core/days.ts';
import { runsDirOf } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { columns, painter } from './report/run.ts';
import type { RunsOptions } from './runs.ts';

const usualDays = 7;

export async function printDays(options: RunsOptions, io: CliIo): Promise<number> {
  const runsDir = runsDirOf(options, io);
  const count = typeof options.days === 'number' ? options.days : usualDays;
  const request = { runsDir, count, zone: localZone() };
  const list = await inspectDays(await inspectRows(runsDir, io), request, io);
  if (options.json === true) io.out(`${JSON.stringify(list, null, 2)}\n`);
  else if (list.days.length === 0) io.out(`no run in ${runsDir} did anything in the last ${count} days\n`);
  else {
    const paint = painter(paints(io, io.outIsTerminal, options.color));
    const lines = columns(cellsOf(list.days)).map(({ cells, last }) => [...cells, last].join('  ').trimEnd());
    io.out(`${lines.map((line, at) => (at === 0 ? paint.dim(line) : line)).join('\n')}\n`);
  }
  return 0;
}

/** A row for each model of a day, the first of them with the day. */
const cellsOf = (days: Awaited<ReturnType<typeof inspectDays>>['days']): readonly (readonly string[])[] => [
  ['day', 'done', 'failed', 'waiting', 'running', 'cost', 'by model'],
  ...days.flatMap(({ day, done, failed, waiting, running, spent, models }) => {
    const cost = models.length === 0 ? '' : costWords(spent);
    const [first = '', ...others] = models.map(
      ({ model, ...one }) => `${model || 'unknown model'} ${costWords(one)}`,
    );
    return [
      [day, ...[done, failed, waiting, running].map(String), cost, first],
      ...others.map((one) => ['', '', '', '', '', '', one]),
    ];
  }),
];
