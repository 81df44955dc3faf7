/** Whether texts speak of programs that touch a file and leave content and times alone: they set its mode, or give it a
 *  second name, as a clone of a repository beside it does. */

const touches =
  /\b(?:chmod|chown|chgrp|setfacl|setfattr|chattr|ln|clone)\b|\bcp\s+-[a-zA-Z]*l|--link\b|\blink(?:Sync)?\s*\(/;

/** Where nobody speaks of them, a file whose change time has moved was written, even if it has its content and its times
 *  back: a product that rewrites its judge while it runs can put both back, but not that one. Pure. */
export const mayTouch = (texts: Iterable<string | Buffer>): boolean => {
  for (const text of texts)
    if (touches.test(typeof text === 'string' ? text : text.toString('latin1'))) return true;
  return false;
};
