/** `factory show --session`: turns and calls of an agent, the output of calls folded. Pure. */
import type { Session, ShownItem, ShownTurn } from '../../app/inspect/session-shape.ts';
import { countedItems, elapsedWords, localSeconds, tokensText } from '../../core/amounts.ts';
import { noSessionWords, sessionWords, turnWords, unansweredCall } from '../../core/session-words.ts';
import { foreign, oneLine, type Paint } from './run.ts';

const written = { duration: elapsedWords, tokens: tokensText };

/** Lines of the output of a failed call that are shown; that of others is folded. */
const shownLines = 5;

export function sessionText(session: Session, paint: Paint, width: number): string {
  const { node, visit, turns, items, state, withheld } = session;
  const head = paint.bold(`${node}@${visit}`);
  if (items.length === 0) return `${head}\n${noSessionWords(state, withheld)}`;
  const byNumber = new Map(turns.map((turn) => [turn.number, turn]));
  const lines = [`${head}  ${sessionWords(session, written).join(' · ')}`];
  let last = 0;
  for (const item of items) {
    const turn = item.turn === last ? undefined : byNumber.get(item.turn);
    last = item.turn;
    if (turn !== undefined) lines.push('', paint.dim(turnLine(turn, session.agent)));
    lines.push(...itemLines(item, paint, width));
  }
  return lines.join('\n');
}

const turnLine = (turn: ShownTurn, agent: string | null): string =>
  [
    `turn ${turn.number}`,
    ...(turn.at === null ? [] : [localSeconds(new Date(turn.at))]),
    ...turnWords(turn, agent, written),
  ].join(' · ');

function itemLines({ kind, text, call }: ShownItem, paint: Paint, width: number): readonly string[] {
  if (call !== null) return callLines(text, call, paint, width);
  const shown = `  ${foreign(text, '  ')}`;
  return [kind === 'text' ? shown : paint.dim(shown)];
}

const signs = { running: '●', completed: '✓', failed: '✗', none: '⊘' } as const;

function callLines(
  detail: string,
  { name, state, output, output_lines, ms }: NonNullable<ShownItem['call']>,
  paint: Paint,
  width: number,
): readonly string[] {
  const sign = state === 'failed' ? paint.red(signs.failed) : signs[state];
  const words = [
    ...(ms === null ? [] : [elapsedWords(ms)]),
    ...(output_lines === 0 ? [] : [countedItems(output_lines, 'line')]),
    ...(state === 'running' ? ['running'] : state === 'none' ? [unansweredCall] : []),
  ].join(', ');
  const room = Math.max(20, width - words.length - 6);
  const about = oneLine(`${name} ${detail}`.trim(), room);
  const line = `  ${sign} ${about}${words === '' ? '' : `  ${paint.dim(words)}`}`;
  if (state !== 'failed' || output.trim() === '') return [line];
  const tail = output.trimEnd().split('\n').slice(-shownLines).join('\n');
  return [line, `      ${paint.dim(foreign(tail, '      '))}`];
}
