/** How each state looks to people: one table for the command line, the page and the pictures. Pure. */
import type { BranchRow, ExecutionGroup, ExecutionRow } from './execution-shapes.ts';
import type { GraphView } from './graph-shapes.ts';
import type { RunRow } from './run-row.ts';

export type ShownState =
  | RunRow['status']
  | ExecutionRow['state']
  | ExecutionGroup['state']
  | GraphView['nodes'][number]['state']
  | BranchRow['state']
  /** Running, while nothing is executed for a time (`stateOrWait`). */
  | 'waits';

/** A colour by its meaning. */
export type Tone = 'run' | 'good' | 'bad' | 'warn' | 'quiet';

export interface StateLook {
  readonly word: string;
  readonly tone: Tone;
  readonly sign: keyof typeof signs;
}

const stroke = 'fill="none" stroke="currentColor" stroke-width="1.75"';
const inner =
  'class="sign-inner" fill="none" stroke="#ffffff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"';
const ring = `<circle cx="8" cy="8" r="6.5" ${stroke}/>`;

/** A character for terminals, and a shape that differs in grey too: SVG, 16 by 16, in the current colour. */
const signs = {
  dot: { character: '●', shape: `${ring}<circle cx="8" cy="8" r="3.5" fill="currentColor"/>` },
  check: {
    character: '✓',
    shape: `<circle cx="8" cy="8" r="7.5" fill="currentColor"/><path d="M4.6 8.4l2.4 2.4 4.5-5" ${inner}/>`,
  },
  cross: {
    character: '✗',
    shape: `<path d="M5 .5h6L15.5 5v6L11 15.5H5L.5 11V5z" fill="currentColor"/><path d="M5.3 5.3l5.4 5.4M10.7 5.3l-5.4 5.4" ${inner}/>`,
  },
  half: { character: '◐', shape: `${ring}<path d="M8 1.500a6.5 6.5 0 0 0 0 13z" fill="currentColor"/>` },
  pause: { character: '‖', shape: `${ring}<path d="M6.2 5.2v5.6M9.8 5.2v5.6" ${stroke}/>` },
  clock: { character: '◔', shape: `${ring}<path d="M8 4v4.2l2.800 1.700" ${stroke}/>` },
  slash: { character: '⊘', shape: `${ring}<path d="M3.5 12.5l9-9" ${stroke}/>` },
  dash: { character: '–', shape: `${ring}<path d="M4.5 8h7" ${stroke}/>` },
  again: { character: '↻', shape: `<path d="M13.5 8a5.5 5.5 0 1 1-1.8-4.1M12.2.8v3.4H8.8" ${stroke}/>` },
  alert: {
    character: '!',
    shape: `<path d="M8 1l7.5 13.5H.5z" fill="currentColor" stroke="currentColor" stroke-linejoin="round"/><path d="M8 6v4M8 12.2v.1" ${inner}/>`,
  },
  unknown: {
    character: '?',
    shape: `${ring}<path d="M6 6.2a2 2 0 1 1 2.7 2c-.5.2-.7.5-.7 1.1M8 11.4v.1" ${stroke}/>`,
  },
  question: {
    character: '?',
    shape: `<circle cx="8" cy="8" r="7.5" fill="currentColor"/><path d="M5.8 6.2a2.2 2.2 0 1 1 3 2c-.6.3-.8.6-.8 1.3M8 12v.1" ${inner}/>`,
  },
  empty: { character: '·', shape: `<circle cx="8" cy="8" r="4.5" ${stroke}/>` },
} as const;

const suspended: StateLook = { word: 'suspended', tone: 'warn', sign: 'pause' };

/** Suspended runs wait by themselves, interrupted ones were stopped by a user or a signal, crashed ones were not. */
const looks: Readonly<Record<ShownState, StateLook>> = {
  running: { word: 'running', tone: 'run', sign: 'dot' },
  completed: { word: 'completed', tone: 'good', sign: 'check' },
  overridden: { word: 'overridden', tone: 'warn', sign: 'alert' },
  done: { word: 'done', tone: 'good', sign: 'check' },
  success: { word: 'success', tone: 'good', sign: 'check' },
  partial_success: { word: 'partial success', tone: 'warn', sign: 'half' },
  retry: { word: 'retry', tone: 'warn', sign: 'again' },
  failed: { word: 'failed', tone: 'bad', sign: 'cross' },
  fail: { word: 'failed', tone: 'bad', sign: 'cross' },
  crashed: { word: 'crashed', tone: 'bad', sign: 'alert' },
  unreadable: { word: 'unreadable', tone: 'bad', sign: 'unknown' },
  suspended,
  paused_quota: suspended,
  paused_outage: suspended,
  paused_auth: suspended,
  paused_billing: suspended,
  paused_disk: suspended,
  paused_wait: suspended,
  paused_cap: suspended,
  paused_answer: { word: 'needs an answer', tone: 'warn', sign: 'question' },
  cancelled: { word: 'cancelled', tone: 'quiet', sign: 'slash' },
  interrupted: { word: 'interrupted', tone: 'quiet', sign: 'slash' },
  skipped: { word: 'skipped', tone: 'quiet', sign: 'dash' },
  waits: { word: 'waiting', tone: 'warn', sign: 'clock' },
  waiting: { word: 'not begun', tone: 'quiet', sign: 'empty' },
  none: { word: 'not reached', tone: 'quiet', sign: 'empty' },
};

export const lookOf = (state: ShownState): StateLook => looks[state];
export const signCharacter = (state: ShownState): string => signs[looks[state].sign].character;
export const signShape = (state: ShownState): string => signs[looks[state].sign].shape;
/** Of a node with findings. */
export const alertShape: string = signs.alert.shape;
