/** `queue/settings.json`: what is set for all runs of a runs folder. Written whole, by `factory queue set`. */
import { lstatSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { jsonIn } from '../core/json.ts';
import { type QueueSettings, queueSettingsSchema } from '../core/settings/queue.ts';
import { readPlain } from '../platform/files/read.ts';
import {
  isMissing,
  makeFolder,
  readFailure,
  removeFile,
  syncFolder,
  tempSibling,
  writeNewFile,
} from '../platform/files/write.ts';
import { fleetLayout } from './layout.ts';

export type SettingsRead =
  | { readonly kind: 'none' }
  | { readonly kind: 'set'; readonly settings: QueueSettings }
  /** `why` names the file, `fix` what to do. */
  | { readonly kind: 'unreadable'; readonly why: string; readonly fix: string };

const mostBytes = 1024 * 1024;

/** What the file says now. */
export function readQueueSettings(runsDir: string): SettingsRead {
  const path = fleetLayout(runsDir).queue.settings;
  const unreadable = (why: string): SettingsRead => ({
    kind: 'unreadable',
    why: `${path} ${why}`,
    fix: 'correct that file, or remove it and set the caps again (factory queue set NAME VALUE)',
  });
  try {
    const found = readPlain(path, mostBytes);
    if (found.kind === 'missing') return { kind: 'none' };
    if (found.kind === 'none') return unreadable(found.why);
    const read = z.string().transform(jsonIn).pipe(queueSettingsSchema()).safeParse(found.text);
    if (read.success) return { kind: 'set', settings: read.data };
    const [issue] = read.error.issues;
    const at = issue?.path.join('.') ?? '';
    return unreadable(
      `has settings that are not valid: ${at === '' ? '' : `${at}: `}${issue?.message ?? ''}`,
    );
  } catch (error) {
    return unreadable(`cannot be read: ${readFailure(error)}`);
  }
}

/** A reader for a process that asks often: one look at the file, which is read again only where it has changed. */
export function settingsReader(runsDir: string): () => SettingsRead {
  const path = fleetLayout(runsDir).queue.settings;
  let known: { readonly is: string; readonly read: SettingsRead } | undefined;
  return () => {
    const is = identityOf(path);
    if (is === undefined) return { kind: 'none' };
    if (known?.is !== is) known = { is, read: readQueueSettings(runsDir) };
    return known.read;
  };
}

/** Undefined for a missing file. */
function identityOf(path: string): string | undefined {
  try {
    const { ino, size, mtimeNs } = lstatSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    return isMissing(error) ? undefined : 'unknown';
  }
}

/** How often a change is made again because another process has changed the settings meanwhile. */
const mostTries = 20;

/** Replaces the settings by what `change` makes of them; flushed. What another process sets meanwhile is kept. */
export async function changeQueueSettings(
  runsDir: string,
  change: (before: SettingsRead) => QueueSettings,
): Promise<QueueSettings> {
  const path = fleetLayout(runsDir).queue.settings;
  makeFolder(dirname(path));
  for (let tries = 1; ; tries++) {
    const was = identityOf(path);
    const settings = change(readQueueSettings(runsDir));
    const temporary = tempSibling(path);
    try {
      await writeNewFile(temporary, `${JSON.stringify(settings, null, 2)}\n`, 0o644);
      if (identityOf(path) !== was && tries < mostTries) continue;
      renameSync(temporary, path);
    } finally {
      removeFile(temporary);
    }
    await syncFolder(dirname(path));
    return settings;
  }
}

/** How many runs of a label may run at once, by label: what a worker claims by. */
export const placesOfLabels = ({ labels }: Pick<QueueSettings, 'labels'>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(labels).flatMap(([label, { max_running }]) =>
      max_running === undefined ? [] : [[label, max_running]],
    ),
  );

/** The same, for a worker that asks often; none where the settings cannot be read. */
export function placesReader(runsDir: string): () => Readonly<Record<string, number>> {
  const read = settingsReader(runsDir);
  return () => {
    const now = read();
    return now.kind === 'set' ? placesOfLabels(now.settings) : {};
  };
}
