/** The card of a failure on the screen: the lines of the output with their places, the command, and what to do next. */
import { stripVTControlCharacters } from 'node:util';
import type { FailureCard, FailureExcerpt } from '../../app/inspect/failure-card.ts';
import { oneLine, type Paint, type TextRow as Row } from './run.ts';

/** Characters of a command that are shown. */
const mostOfCommand = 80;

/** The command that failed, and its output. */
export const failureRows = (
  { command, exit_code, ...output }: Pick<FailureCard, 'command' | 'exit_code' | 'excerpt' | 'place'>,
  paint: Paint,
): readonly Row[] => [
  ...(command === null
    ? []
    : [
        [
          'command',
          `${oneLine(command, mostOfCommand)}${exit_code === null ? '' : ` (exit ${exit_code})`}`,
        ] as const,
      ]),
  ...outputRows(output, paint),
];

/** The places of an excerpt, and its lines with their numbers; the one that says what failed is marked. */
export function outputRows(
  { excerpt, place }: Pick<FailureCard, 'excerpt' | 'place'>,
  paint: Paint,
): readonly Row[] {
  if (excerpt === null) return [];
  const { of, first, at, lines } = excerpt;
  const line = first === null ? '' : `:${first + (at ?? 0)}`;
  const places = [
    ...(of === null ? [] : [`${of}${line}`]),
    ...(place === null ? [] : [`${place.file}:${place.line}`]),
  ];
  const head = places.length === 0 ? [] : [['output', places.join(', ')] as const];
  return [
    ...head,
    ...lines.map((text, index): Row => {
      const name = index === 0 && head.length === 0 ? 'output' : '';
      return [
        name,
        index === at ? paint.bold(numbered(excerpt, text, index)) : numbered(excerpt, text, index),
      ];
    }),
  ];
}

function numbered({ first, at, lines }: FailureExcerpt, text: string, index: number): string {
  const width = first === null ? 0 : String(first + lines.length - 1).length + 1;
  const number = first === null ? '' : String(first + index).padStart(width);
  return `${index === at ? '>' : ' '}${number} ${harmless(text)}`.trimEnd();
}

/** Control sequences of a tool would move our cursor. */
const harmless = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll('\t', '    ')
    .replace(/\p{Cc}/gu, ' ');

/** What can be done, the best last, next to where the user types. */
export function actionRows({ actions }: Pick<FailureCard, 'actions'>, next: string): readonly Row[] {
  const [first, ...others] = actions;
  return [
    ...others.toReversed().flatMap(({ words, command }): readonly Row[] => [
      ['or', words],
      ['', command, 'command'],
    ]),
    // The command of a run that just continues needs no words.
    ...(first === undefined || first.words.startsWith('Continue') ? [] : [['fix', first.words] as const]),
    ...(next === '' ? [] : [['next', next, 'next'] as const]),
  ];
}
