/** SVG → PNG, with the fonts of this machine. */
import { Resvg } from '@resvg/resvg-js';

const mostPixels = 12_000;
const font = { loadSystemFonts: true };

/** The picture at twice its size (a larger one is at most 12,000 pixels wide or high); undefined if this machine has no fonts,
 *  because every text would be missing. */
export function pngOf(svg: string): Uint8Array | undefined {
  const letter = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9">n</text></svg>';
  if (new Resvg(letter, { font }).getBBox() === undefined) return undefined;
  const [, width = 1, height = 1] = (/width="([\d.]+)" height="([\d.]+)"/.exec(svg) ?? []).map(Number);
  const value = Math.min(2, mostPixels / Math.max(width, height));
  return new Resvg(svg, { font, fitTo: { mode: 'zoom', value } }).render().asPng();
}
