/** `a=1,b=2`, percent-encoded: how variables of OpenTelemetry write headers and attributes. Pure. */
import { withoutPercents } from './policy/words.ts';

export function otelPairs(text: string): readonly (readonly [name: string, value: string])[] {
  return text.split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 1 ? [] : [[pair.slice(0, at).trim(), withoutPercents(pair.slice(at + 1).trim())] as const];
  });
}
