/** Reading what a node and the environment say about an agent's program. */
import { isAbsolute, join, normalize } from 'node:path';
import { durationMs } from '../../model/attribute.ts';

/** A text and where it stands, for messages. */
export type Given = { readonly text: string; readonly from: string };

/** What is wrong and where; thrown while settings are read, and caught by `settingsOr`. */
export class Bad extends Error {}

/** Hidden from agents unless the node says that they may be read. */
export const scenarios = 'scripts/scenarios/';

/** What `read` gives, or the message of the `Bad` that it threw. */
export function settingsOr<T>(read: () => T): { readonly settings: T } | { readonly problem: string } {
  try {
    return { settings: read() };
  } catch (error) {
    if (error instanceof Bad) return { problem: error.message };
    throw error;
  }
}

/** Undefined for a text that is missing or blank. */
export function given(text: string | undefined, from: string): Given | undefined {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' ? undefined : { text: trimmed, from };
}

/** The entries of a comma-separated list. */
export const listed = (list: Given | undefined): readonly Given[] =>
  (list?.text ?? '').split(',').flatMap((text) => given(text, list?.from ?? '') ?? []);

export const isTrue = (said: Given | undefined): boolean => /^(?:1|t|true|yes)$/i.test(said?.text ?? '');

/** Milliseconds; a bare number means seconds, and 0 that nothing was said. */
export function time(said: Given | undefined): number | undefined {
  if (said === undefined) return undefined;
  const ms = /^\d+$/.test(said.text) ? Number(said.text) * 1000 : durationMs(said.text);
  if (ms === undefined)
    throw new Bad(`${said.from} is "${said.text}", which is no length of time: write 900 or 15m`);
  return ms === 0 ? undefined : ms;
}

/** A path as it is meant: absolute, or relative to the workspace. */
export function pathIn(workspace: string, { text, from }: Given): string {
  if (/~|\.\./.test(text)) throw new Bad(`${from}: "${text}" may have neither "~" nor ".."`);
  return isAbsolute(text) ? normalize(text) : join(workspace, text);
}

/** A path that is hidden from the agent, relative to the workspace. */
export function blocked({ text, from }: Given): string {
  if (isAbsolute(text) || /~|\.\./.test(text))
    throw new Bad(`${from}: "${text}" is not inside the workspace: no leading "/", no "~", no ".."`);
  if (/^[./]*$/.test(text)) throw new Bad(`${from}: "${text}" is the whole workspace`);
  return text;
}

export function variableName({ text, from }: Given): string {
  if (!/^[A-Za-z_]\w*$/.test(text)) throw new Bad(`${from}: "${text}" is no name of a variable`);
  return text;
}

/** One of a few words. */
export function oneOf<const W extends string>(said: Given | undefined, words: readonly W[], otherwise: W): W {
  if (said === undefined) return otherwise;
  const found = words.find((word) => word === said.text);
  if (found === undefined)
    throw new Bad(`${said.from} is "${said.text}", which is none of ${words.join(', ')}`);
  return found;
}
