/** States on a terminal: a sign in the colour of its tone. */
import { lookOf, type ShownState, signCharacter, type Tone } from '../../app/inspect/states.ts';
import type { Paint } from './run.ts';

const colours = {
  run: 'cyan',
  good: 'green',
  bad: 'red',
  warn: 'yellow',
  quiet: 'dim',
} as const satisfies Readonly<Record<Tone, keyof Paint>>;

export const statePaint = (state: ShownState, paint: Paint): ((text: string) => string) =>
  paint[colours[lookOf(state).tone]];
export const stateSign = (state: ShownState, paint: Paint): string =>
  statePaint(state, paint)(signCharacter(state));
/** `✓ completed` */
export const stateCell = (state: ShownState): string => `${signCharacter(state)} ${lookOf(state).word}`;
