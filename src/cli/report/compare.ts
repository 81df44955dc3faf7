/** Two runs side by side on a terminal. Pure. */
import type { NodeFigures, Parting, RunComparison } from '../../app/compare/shape.ts';
import { differingParts } from '../../app/compare/words.ts';
import { lookOf, signCharacter } from '../../app/inspect/states.ts';
import { costWords, countedItems, elapsedWords, usdWords } from '../../core/amounts.ts';
import { columns, oneLine, type Paint, tableRow } from './run.ts';
import { stateCell, statePaint } from './states.ts';

/** Rows of a table of inputs, nodes or files. */
const most = 30;

export function comparisonText(view: RunComparison, paint: Paint, width: number): string {
  const { parting, inputs, nodes, files, files_left_out } = view;
  const others = files?.filter(({ same }) => !same) ?? [];
  const alike = (files?.length ?? 0) - others.length;
  return [
    ...runLines('A', view.a, paint, width),
    ...runLines('B', view.b, paint, width),
    '',
    paint.bold(view.line),
    ...(parting === null ? [] : partingLines(parting, paint, width)),
    ...titled(
      'Started with',
      inputs.map(({ name, a, b }) => [name, a, b]),
      paint,
      width,
    ),
    ...titled(
      'Nodes',
      nodes.map(({ node, a, b }) => [node, figures(a), figures(b)]),
      paint,
      width,
    ),
    ...titled(
      'Changed files',
      others.map(({ path, a, b }) => [path, a ?? 'unchanged', b ?? 'unchanged']),
      paint,
      width,
    ),
    ...(files === null ? ['', 'The changed files are unknown: a snapshot cannot be read'] : []),
    ...(alike > 0 ? ['', paint.dim(`${countedItems(alike, 'changed file')} the same in both`)] : []),
    ...(files_left_out > 0 ? [paint.dim(`${countedItems(files_left_out, 'file')} more`)] : []),
  ].join('\n');
}

function runLines(name: string, run: RunComparison['a'], paint: Paint, width: number): readonly string[] {
  const { status, run_id, title, executions, elapsed_ms, spent, headline } = run;
  const facts = [
    run_id,
    title,
    countedItems(executions, 'execution'),
    elapsedWords(elapsed_ms),
    ...(spent.calls === 0 ? [] : [costWords(spent)]),
  ].join(' · ');
  return [
    `${paint.bold(name)}  ${statePaint(status, paint)(stateCell(status))}  ${oneLine(facts, width - 6 - stateCell(status).length)}`,
    ...(headline === '' || headline === lookOf(status).word
      ? []
      : [paint.dim(`   ${oneLine(headline, width - 3)}`)]),
  ];
}

type Row = readonly [name: string, a: string | null, b: string | null];

function partingLines({ a, b, differs }: Parting, paint: Paint, width: number): readonly string[] {
  const at = (end: Parting['a']) => (end === null ? 'has ended' : `${end.node}@${end.visit}`);
  const took = (end: Parting['a']) =>
    end === null
      ? null
      : [elapsedWords(end.took_ms), ...(end.cost_usd === 0 ? [] : [usdWords(end.cost_usd)])].join(', ');
  const reasons: Row = ['reason', a?.reason ?? '', b?.reason ?? ''];
  return table(
    [
      ['execution', at(a), at(b)],
      ...differs.flatMap(({ what, name, a: was, b: is }): Row[] =>
        what === 'node'
          ? []
          : [
              [
                name === '' ? what : `${what} ${name}`,
                was === null && is === null ? 'differs' : routed(what, was),
                was === null && is === null ? 'differs' : routed(what, is),
              ],
            ],
      ),
      ...(reasons[1] === reasons[2] ? [] : [reasons]),
      ['took', took(a), took(b)],
    ],
    paint,
    width,
  );
}

const routed = (what: string, to: string | null): string | null =>
  what === 'route' ? (to === null ? 'ends' : `-> ${to}`) : what === 'changes' ? (to ?? 'unchanged') : to;

/** `2 × ✗ fail (product), 1.2 s, 0.02 USD` */
function figures(node: NodeFigures | null): string {
  if (node === null) return 'not executed';
  const { executions, state, class: ofClass, took_ms, cost_usd } = node;
  return [
    `${executions === 1 ? '' : `${executions} × `}${signCharacter(state)} ${state}${ofClass === null ? '' : ` (${ofClass})`}`,
    elapsedWords(took_ms),
    ...(cost_usd === 0 ? [] : [usdWords(cost_usd)]),
  ].join(', ');
}

const titled = (title: string, rows: readonly Row[], paint: Paint, width: number): readonly string[] =>
  rows.length === 0
    ? []
    : [
        '',
        paint.bold(title),
        ...table(rows.slice(0, most), paint, width),
        ...(rows.length > most ? [paint.dim(`  ${rows.length - most} more: --json`)] : []),
      ];

/** Rows with what each of the runs has: of two long texts the part that differs. */
function table(rows: readonly Row[], paint: Paint, width: number): readonly string[] {
  const names = rows.map(([name]) => oneLine(name, Math.floor(width / 3)));
  const room = Math.floor((width - Math.max(...names.map(({ length }) => length)) - 6) / 2);
  const cells = rows.map(([, a, b], at) => [
    `  ${names[at]}`,
    ...differingParts(a ?? '–', b ?? '–', room).map((text) => oneLine(text, room)),
  ]);
  return columns([['', 'A', 'B'], ...cells]).map((row, at) =>
    at === 0 ? paint.dim(tableRow(row, width).text) : tableRow(row, width).text,
  );
}
