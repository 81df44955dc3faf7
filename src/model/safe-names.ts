/** Names and paths in a run's records that become paths or words of commands that users copy. A run directory may come
 *  from an untrusted source: no path may lead out of its folder. */

import * as z from 'zod';
import { once } from './once.ts';

export const nodeId = once(() => z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a node id'));

/** A run id is the name of its folder and a word of suggested commands. */
export const runIdForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
export const runId = once(() => z.string().regex(runIdForm, 'is not a run id'));

/** The name of a file in a known folder. */
export const fileName = once(() => z.string().regex(/^(?!\.{1,2}$)[^/\0]+$/, 'is not a file name'));

/** A path below a known folder: not absolute and without `..`. */
export const innerPath = once(() =>
  z.string().refine((path) => !/^$|^\/|(?:^|\/)\.\.(?:\/|$)|\0/.test(path), 'is not a path below the folder'),
);
