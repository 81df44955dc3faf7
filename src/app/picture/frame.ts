/** What every picture has around its content: ground, heading, legend, signs, and the style for a dark ground. */
import { costWords, elapsedWords } from '../../core/amounts.ts';
import type { RunView } from '../inspect/shapes.ts';
import { alertShape, signShape } from '../inspect/states.ts';
import type { PicturePoint } from './layout.ts';
import { colours, type NodeState, nodeStates, outlineOf } from './marks.ts';
import { darkStyle } from './stylesheet.ts';
import { escaped, textWidth } from './text.ts';

export type Picture = {
  /** For a page, which has its own heading, legend, ground and stylesheet. */
  readonly inline?: boolean;
  /** Lines above the picture; the first one is larger. */
  readonly heading?: readonly string[];
};

type Framed = Picture & {
  /** For screen readers. */
  readonly name: string;
  /** Of the content, in points. */
  readonly width: number;
  readonly height: number;
  readonly content: readonly string[];
  readonly legend: readonly LegendEntry[];
};

export type LegendEntry = { readonly mark: (at: PicturePoint) => string; readonly words: string };

const margin = 14;
/** Without quotes: resvg ignores a list that has them. */
const fontFamily = 'system-ui, Helvetica, Arial, Liberation Sans, DejaVu Sans, Noto Sans, sans-serif';

/** The whole SVG text. */
export function framed({ inline = false, name, width, height, content, ...more }: Framed): string {
  const heading = inline ? [] : (more.heading ?? []);
  const legend = inline ? [] : more.legend;
  const above = heading.length === 0 ? 0 : 14 + heading.length * 17;
  const inner = Math.max(width, legendWidth(legend), headingWidth(heading));
  const whole = [inner + 2 * margin, height + above + (legend.length === 0 ? 0 : 34) + 2 * margin] as const;
  const [across, down] = [coordinate(whole[0]), coordinate(whole[1])];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="factory-picture" viewBox="0 0 ${across} ${down}" width="${across}" height="${down}" font-family="${fontFamily}" font-size="12.5" role="img" aria-label="${escaped(name)}">`,
    ...(inline ? [] : [`<style>${darkStyle()}</style>`]),
    signDefs(),
    ...(inline ? [] : [`<rect class="ground" width="100%" height="100%" fill="${colours.ground[0]}"/>`]),
    ...headingTexts(heading),
    `<g transform="translate(${coordinate(margin + (inner - width) / 2)} ${coordinate(margin + above)})">`,
    ...content,
    '</g>',
    ...legendMarks(legend, whole[1] - margin - 10),
    '</svg>\n',
  ].join('\n');
}

/** The title of a run, and a line with its state, time, cost and start. */
export function runHeading(run: RunView): readonly string[] {
  const { title, status, elapsed_ms, spent, started_at, run_id } = run;
  const cost = spent.calls === 0 ? [] : [costWords(spent)];
  const facts = [
    run_id,
    status,
    elapsedWords(elapsed_ms),
    ...cost,
    `${started_at.slice(0, 16).replace('T', ' ')} UTC`,
  ];
  return [title, facts.join(' · ')];
}

/** A coordinate with at most one decimal. */
export const coordinate = (value: number): string => String(Math.round(value * 10) / 10);

export const svgText = (at: PicturePoint, size: number, words: string, attributes: string): string =>
  `<text x="${coordinate(at[0])}" y="${coordinate(at[1])}" font-size="${size}" ${attributes}>${escaped(words)}</text>`;

/** The sign of a state; `at` is its upper left corner. */
export const sign = (name: NodeState | 'problem', [x, y]: PicturePoint, size = 16): string =>
  `<use class="sign" href="#sign-${name}" x="${coordinate(x)}" y="${coordinate(y)}" width="${size}" height="${size}" color="${colours[name === 'problem' ? 'fail' : outlineOf(name).line][0]}"/>`;

/** A short line as the mark of a legend. */
export const lineMark =
  (kind: string, attributes: string) =>
  ([x, y]: PicturePoint): string =>
    `<g class="edge ${kind}"><path class="line" d="M${coordinate(x)} ${coordinate(y + 8)}h16" fill="none" ${attributes}/></g>`;

/** The signs, and the hatching of waits. */
export const signDefs = (): string =>
  [
    '<defs>',
    ...[
      ...nodeStates.map((state) => [state, state === 'none' ? '' : signShape(state)]),
      ['problem', alertShape],
    ].map(([name, shape]) => `<symbol id="sign-${name}" viewBox="0 0 16 16">${shape}</symbol>`),
    `<pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M2 0v4" stroke="${colours.quiet[0]}" stroke-width="1.2"/></pattern>`,
    '</defs>',
  ].join('');

const headingWidth = (lines: readonly string[]): number =>
  Math.max(0, ...lines.map((line, at) => textWidth(line, at === 0 ? 16 : 12)));

const headingTexts = (lines: readonly string[]): readonly string[] =>
  lines.map((line, at) =>
    at === 0
      ? svgText([margin, margin + 12], 16, line, `class="title" font-weight="600" fill="${colours.ink[0]}"`)
      : svgText([margin, margin + 12 + at * 18], 12, line, `class="details" fill="${colours.quiet[0]}"`),
  );

const entryWidth = ({ words }: LegendEntry): number => 16 + 6 + textWidth(words, 11) + 14;
const legendWidth = (entries: readonly LegendEntry[]): number =>
  entries.reduce((sum, entry) => sum + entryWidth(entry), 0);

function legendMarks(entries: readonly LegendEntry[], y: number): readonly string[] {
  let x = margin;
  return entries.map((entry) => {
    const at = x;
    x += entryWidth(entry);
    const words = svgText([at + 22, y + 4], 11, entry.words, `class="details" fill="${colours.quiet[0]}"`);
    return entry.mark([at, y - 8]) + words;
  });
}
