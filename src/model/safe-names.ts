/** Names and paths in a run's records that become paths, or words of a command that people copy. A run directory may come
 *  from somebody else: none of them leads out of the folder that it belongs to. */
import * as z from 'zod';

export const nodeId = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is no node id');

/** The name of a run is that of its folder, and a word of proposed commands. */
export const runIdForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
export const runId = z.string().regex(runIdForm, 'is no run id');

/** The name of a file in a folder that is known. */
export const fileName = z.string().regex(/^(?!\.{1,2}$)[^/\0]+$/, 'is no file name');

/** A path below a folder that is known: not absolute, and nothing climbs. */
export const innerPath = z
  .string()
  .refine((path) => !/^$|^\/|(?:^|\/)\.\.(?:\/|$)|\0/.test(path), 'is no path below the folder');
