/** The parameters of a function or a lambda. */
import type { Cursor } from './cursor.ts';
import { bitwise, expression } from './expressions.ts';

/** Reads parameters up to `close`, which stays. Annotations are allowed where `annotated` is set. */
export function parameters(c: Cursor, close: string, annotated: boolean): void {
  let count = 0;
  let defaults = false;
  let slash = false;
  let star: 'none' | 'bare' | 'named' = 'none';
  while (!c.is(close)) {
    if (c.take('/')) {
      if (count === 0 || slash || star !== 'none') throw c.fail('a "/" is out of place among parameters');
      slash = true;
    } else if (c.take('**')) {
      if (star === 'bare') throw c.fail('a bare "*" needs a parameter after it');
      c.name();
      if (annotated && c.take(':')) expression(c);
      c.take(',');
      return;
    } else if (c.take('*')) {
      if (star !== 'none') throw c.fail('a second "*" among parameters');
      star = c.isKind('name') ? 'named' : 'bare';
      if (star === 'named') {
        c.name();
        if (annotated && c.take(':')) {
          if (c.take('*')) bitwise(c);
          else expression(c);
        }
      }
    } else {
      c.name();
      if (annotated && c.take(':')) expression(c);
      if (c.take('=')) {
        expression(c);
        defaults = true;
      } else if (defaults && star === 'none')
        throw c.fail('a parameter without default follows one with a default');
      if (star === 'bare') star = 'named';
    }
    count++;
    if (!c.take(',')) break;
  }
  if (star === 'bare') throw c.fail('a bare "*" needs a parameter after it');
}
