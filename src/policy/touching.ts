/** Whether texts mention programs that touch a file without changing content and times: they set its mode, or
 *  create a hard link, as a local clone of a repository does. */

const touches =
  /\b(?:chmod|chown|chgrp|setfacl|setfattr|chattr|ln|clone)\b|\bcp\s+-[a-zA-Z]*l|--link\b|\blink(?:Sync)?\s*\(/;

/** Where no text mentions them, a file whose change time (ctime) differs was written, even if its content and its
 *  times are restored: a product that rewrites its scenario while it runs can restore both, but not the change
 *  time. Pure. */
export const mayTouch = (texts: Iterable<string | Buffer>): boolean => {
  for (const text of texts)
    if (touches.test(typeof text === 'string' ? text : text.toString('latin1'))) return true;
  return false;
};
