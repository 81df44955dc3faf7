/** How states and node types look in pictures: colours, and lines that differ in grey too. */
import type { GraphView } from '../inspect/graph-shapes.ts';
import { lookOf, type Tone } from '../inspect/states.ts';

export type NodeState = GraphView['nodes'][number]['state'] | 'waits';

/** A colour on a light and on a dark ground. */
type Colour = readonly [light: string, dark: string];

export const colours = {
  ground: ['#ffffff', '#0d1117'],
  paper: ['#ffffff', '#161b22'],
  ink: ['#1f2328', '#e6edf3'],
  quiet: ['#57606a', '#9aa4af'],
  line: ['#8c959f', '#6e7681'],
  success: ['#1a7f37', '#3fb950'],
  'success-paper': ['#e6f6ea', '#12281a'],
  partial: ['#8a6100', '#d29922'],
  'partial-paper': ['#fff8d6', '#2b230f'],
  fail: ['#c01c28', '#ff6b63'],
  'fail-paper': ['#ffe9e7', '#341416'],
  running: ['#0a5fc4', '#58a6ff'],
  'running-paper': ['#dcefff', '#0d2745'],
  stopped: ['#57606a', '#9aa4af'],
  'stopped-paper': ['#f1f3f5', '#21262d'],
  model: ['#2a4aa8', '#9db8ff'],
  work: ['#55a092', '#2f7d72'],
} as const satisfies Readonly<Record<string, Colour>>;
export type ColourName = keyof typeof colours;

type StrokeLook = {
  readonly width: number;
  /** `stroke-dasharray`; empty for a solid line. */
  readonly dashes: string;
};
const strokes: Readonly<Record<NodeState, StrokeLook>> = {
  none: { width: 1, dashes: '' },
  success: { width: 1.5, dashes: '' },
  partial_success: { width: 1.75, dashes: '9 3' },
  retry: { width: 1.75, dashes: '4 3' },
  fail: { width: 3, dashes: '' },
  running: { width: 3, dashes: '12 3 3 3' },
  waits: { width: 3, dashes: '3 3' },
  suspended: { width: 1.75, dashes: '2 4' },
  interrupted: { width: 1.5, dashes: '6 4' },
  skipped: { width: 1.5, dashes: '1.5 3' },
};
export const nodeStates = Object.keys(strokes) as readonly NodeState[];

const toneColours: Readonly<Record<Tone, readonly [line: ColourName, paper: ColourName]>> = {
  run: ['running', 'running-paper'],
  good: ['success', 'success-paper'],
  warn: ['partial', 'partial-paper'],
  bad: ['fail', 'fail-paper'],
  quiet: ['stopped', 'stopped-paper'],
};

/** How the outline of a node in this state is drawn. */
export function outlineOf(state: NodeState): StrokeLook & Readonly<Record<'line' | 'paper', ColourName>> {
  const [line, paper] = state === 'none' ? (['line', 'paper'] as const) : toneColours[lookOf(state).tone];
  return { ...strokes[state], line, paper };
}

const stroke = 'fill="none" stroke="currentColor" stroke-width="1.75"';

/** Signs at edges: `✓` for a success, `✗` for a failure; paths from their middle, because not every font has them. */
export const edgeMarks: Readonly<Record<string, string>> = {
  '✓': 'm-4 .3l2.6 2.7 5.2-6',
  '✗': 'm-3-3l6 6m0-6l-6 6',
};

/** Of an exit that fails the run. */
export const failureIcon = `<circle cx="8" cy="8" r="6.5" ${stroke}/><path d="M5.5 5.5l5 5M10.5 5.5l-5 5" ${stroke} stroke-linecap="round"/>`;

type KindLook = {
  /** Attributes of the outline in DOT. */
  readonly dot: {
    readonly shape:
      | 'box'
      | 'box3d'
      | 'component'
      | 'ellipse'
      | 'diamond'
      | 'folder'
      | 'octagon'
      | 'plaintext'
      | 'polygon'
      | 'tab';
    readonly style?: 'rounded' | 'diagonals';
    readonly peripheries?: number;
    readonly sides?: number;
    readonly skew?: number;
  };
  /** Points between the box around the text and the outline, at each side. */
  readonly aside: number;
  /** The brackets of the shape in Mermaid. */
  readonly mermaid: readonly [string, string];
  /** 16 by 16, in the current colour. */
  readonly icon: string;
};
const box = { shape: 'box' } as const;
/** Node types; any other looks like `unknown`. */
const kindLooks: Readonly<Record<string, KindLook>> = {
  start: {
    dot: { shape: 'ellipse' },
    aside: 14,
    mermaid: ['([', '])'],
    icon: '<path d="M4 2.5v11l9-5.5z" fill="currentColor"/>',
  },
  exit: {
    dot: { ...box, peripheries: 2 },
    aside: 0,
    mermaid: ['[[', ']]'],
    icon: `<path d="M3.5 1.5v13.5M3.5 2.5h9l-2.5 3.2 2.5 3.3h-9" ${stroke} stroke-linejoin="round"/>`,
  },
  tool: {
    dot: { shape: 'polygon', sides: 4, skew: 0.2 },
    aside: 9,
    mermaid: ['[/', '/]'],
    icon: `<path d="M2 4l4 4-4 4M8 12.5h6" ${stroke} stroke-linecap="round" stroke-linejoin="round"/>`,
  },
  codergen: {
    dot: { ...box, style: 'rounded' },
    aside: 0,
    mermaid: ['(', ')'],
    icon: '<path d="M7 1.5l1.6 4.4 4.4 1.6-4.4 1.6L7 13.5 5.4 9.1 1 7.5l4.4-1.6zM13 10l.8 2.2 2.2.8-2.2.8L13 16l-.8-2.2L10 13l2.2-.8z" fill="currentColor"/>',
  },
  prompt: {
    dot: { shape: 'tab' },
    aside: 0,
    mermaid: ['(', ')'],
    icon: `<path d="M2 3h12v8H7.5L4.5 13.5V11H2z" ${stroke} stroke-linejoin="round"/>`,
  },
  verification: {
    dot: { ...box, style: 'diagonals' },
    aside: 3,
    mermaid: ['{{', '}}'],
    icon: `<path d="M1.5 4l1.5 1.5L5.5 2.5M1.5 11.5L3 13l2.5-3M8.5 4h6M8.5 11.5h6" ${stroke} stroke-linecap="round" stroke-linejoin="round"/>`,
  },
  conditional: {
    dot: { shape: 'diamond' },
    aside: 0,
    mermaid: ['{', '}'],
    icon: `<path d="M8 1.5L14.5 8 8 14.5 1.5 8z" ${stroke} stroke-linejoin="round"/>`,
  },
  parallel: {
    dot: { shape: 'component' },
    aside: 8,
    mermaid: ['[', ']'],
    icon: `<path d="M8 1.5v4M8 5.5c0 3-5 2-5 5.500M8 5.500c0 3 5 2 5 5.500M8 5.500v6M1.2 11.500l1.800 2.500 1.800-2.500M6.200 11.500l1.800 2.500 1.800-2.500M11.200 11.500l1.800 2.500 1.800-2.500" ${stroke} stroke-linejoin="round"/>`,
  },
  'parallel.fan_in': {
    dot: { shape: 'octagon' },
    aside: 8,
    mermaid: ['[', ']'],
    icon: `<path d="M3 1.500c0 4 5 3 5 7M13 1.500c0 4-5 3-5 7M8 1.500v12.500M5.500 11l2.500 3.500 2.500-3.500" ${stroke} stroke-linejoin="round"/>`,
  },
  subgraph: {
    dot: { shape: 'folder' },
    aside: 2,
    mermaid: ['[[', ']]'],
    icon: `<path d="M2 2h5v4H2zM9 10h5v4H9zM4.500 6v6H9" ${stroke} stroke-linejoin="round"/>`,
  },
  'stack.manager_loop': {
    dot: { shape: 'folder' },
    aside: 2,
    mermaid: ['[[', ']]'],
    icon: `<path d="M1.5 8L8 2l6.500 6M3.500 7v7h9V7M6.500 14v-4h3v4" ${stroke} stroke-linejoin="round" stroke-linecap="round"/>`,
  },
  wait: {
    dot: { ...box, style: 'rounded' },
    aside: 0,
    mermaid: ['(', ')'],
    icon: `<circle cx="8" cy="8" r="6.5" ${stroke}/><path d="M8 4v4l3 2" ${stroke} stroke-linecap="round"/>`,
  },
};
/** What a map shows for several nodes: a click opens it. */
export const foldType = 'fold';
/** What a map shows at the end of an edge that would cross the whole drawing: the name of the node that it leads to. */
export const stubType = 'stub';
/** Of a card that a click opens. */
export const openIcon = `<path d="M2.5 2.5h11v11h-11zM8 5v6M5 8h6" ${stroke}/>`;
/** Of the box around what was opened: a click folds it. */
export const closeIcon = `<path d="M2.5 2.5h11v11h-11zM5 8h6" ${stroke}/>`;
const mapLooks: Readonly<Record<string, KindLook>> = {
  [foldType]: { dot: { shape: 'box3d' }, aside: 4, mermaid: ['[[', ']]'], icon: openIcon },
  [stubType]: { dot: { shape: 'plaintext' }, aside: 0, mermaid: ['[', ']'], icon: '' },
};
const unknown: KindLook = {
  dot: box,
  aside: 0,
  mermaid: ['[', ']'],
  icon: `<path d="M5 5.5a3 3 0 1 1 4.5 2.6C8.4 8.7 8 9.3 8 10.5M8 13.3v.2" ${stroke} stroke-linecap="round"/>`,
};
export const kindLook = (type: string): KindLook =>
  Object.hasOwn(kindLooks, type) ? (kindLooks[type] ?? unknown) : (mapLooks[type] ?? unknown);
export const isKnownKind = (type: string): boolean => Object.hasOwn(kindLooks, type);
