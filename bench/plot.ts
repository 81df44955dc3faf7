/** The cost of a node against its number in the run: as a picture, and in letters for the terminal. */
import { shown } from './report.ts';

/** Who → milliseconds per node, block after block of `block` nodes. */
export type Curves = Readonly<Record<string, readonly number[]>>;

const colours = ['#0b62a4', '#d1603d', '#4d8b31', '#6b4c9a'];
const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);

/** The top of the scale: above nearly every block, so that one that was disturbed does not flatten all the others. */
function ceiling(curves: Curves): number {
  const all = Object.values(curves)
    .flat()
    .sort((a, b) => a - b);
  return Math.max((all[Math.floor((all.length - 1) * 0.99)] ?? 0) * 1.15, 0.001);
}

/** A picture of its own (SVG 1.1), 800 by 400. */
export function svgOf(title: string, curves: Curves, block: number): string {
  const [left, top, width, height] = [70, 40, 700, 300];
  const high = ceiling(curves);
  const blocks = Math.max(1, ...Object.values(curves).map((curve) => curve.length));
  const x = (index: number) => (left + ((index + 0.5) / blocks) * width).toFixed(1);
  const y = (cost: number) => (top + height * (1 - Math.min(1, cost / high))).toFixed(1);
  const text = (at: string, anchor: string, words: string) =>
    `<text ${at} text-anchor="${anchor}">${escaped(words)}</text>`;
  const marks = [0, 0.25, 0.5, 0.75, 1];
  return `${[
    '<svg xmlns="http://www.w3.org/2000/svg" width="800" height="400" font-family="sans-serif" font-size="12">',
    `<title>${escaped(title)}</title>`,
    '<rect width="800" height="400" fill="white"/>',
    text(`x="${left}" y="24" font-size="14"`, 'start', title),
    ...marks.flatMap((part) => [
      `<path d="M${left} ${y(part * high)}h${width}" stroke="#ddd"/>`,
      text(`x="${left - 8}" y="${Number(y(part * high)) + 4}"`, 'end', shown(part * high, 'ms')),
      text(
        `x="${left + part * width}" y="${top + height + 18}"`,
        'middle',
        `${Math.round(part * blocks * block)}`,
      ),
    ]),
    text(`x="${left + width / 2}" y="${top + height + 38}"`, 'middle', 'number of the node in the run'),
    ...Object.entries(curves).flatMap(([who, curve], index) => {
      const colour = colours[index % colours.length];
      const points = curve.map((cost, at) => `${x(at)},${y(cost)}`).join(' ');
      return [
        `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
        text(`x="${left + width - 8}" y="${top + 16 + index * 16}" fill="${colour}"`, 'end', who),
      ];
    }),
    '</svg>',
  ].join('\n')}\n`;
}

/** The same in letters: the first of each name marks its curve, `*` where two meet. */
export function letters(curves: Curves, block: number, width = 64, height = 10): string {
  const high = ceiling(curves);
  const blocks = Math.max(1, ...Object.values(curves).map((curve) => curve.length));
  const canvas = Array.from({ length: height }, () => Array.from({ length: width }, () => ' '));
  for (const [who, curve] of Object.entries(curves)) {
    for (let column = 0; column < width; column++) {
      const cost = curve[Math.floor((column / width) * blocks)];
      if (cost === undefined) continue;
      const level = Math.min(height - 1, Math.floor((cost / high) * height));
      const line = canvas[height - 1 - level];
      if (line !== undefined) line[column] = line[column] === ' ' ? who.charAt(0) : '*';
    }
  }
  const edge = (index: number) =>
    index === 0 ? shown(high, 'ms') : index === height - 1 ? shown(0, 'ms') : '';
  return [
    ...canvas.map((line, index) => `  ${edge(index).padStart(8)} |${line.join('').trimEnd()}`),
    `  ${''.padStart(8)} +${'-'.repeat(width)}`,
    `  ${''.padStart(8)}  1${`${blocks * block}`.padStart(width - 1)}  node`,
    `  ${''.padStart(8)}  ${Object.keys(curves)
      .map((who) => `${who.charAt(0)} = ${who}`)
      .join(', ')}${Object.keys(curves).length > 1 ? ', * = both' : ''}`,
  ].join('\n');
}
