/** Writes a proposal into the workspace: all of it or nothing. */
import { symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorText } from '../core/diagnostic.ts';
import { type StageFailure, stageFailure } from '../core/orders/failure-stage.ts';
import type { WriteProposal } from '../core/orders/proposal.ts';
import { isAmongPackages } from '../core/policy/test-files.ts';
import { isDisks } from '../platform/files/disk-error.ts';
import { assertNoLinkAbove } from '../platform/files/inside.ts';
import { makeFolder, removeNow, writeFileAtomic } from '../platform/files/write.ts';
import { type CheckedWrite, checkProposal, escapedPath, type OrderScope, touchedBy } from './scope.ts';

/** `touched`: sorted paths that the proposal names, also when it is refused. */
export type Applied = { readonly touched: readonly string[] } & (
  | { readonly failure?: never }
  | { readonly failure: StageFailure }
);

/** Writes a proposal into the folder `workspace` if all of it is permitted: each path once and in `order.allowed_files`,
 *  not named by `order.forbidden`, not in `.git` or `.factory`, not through a link, not a folder, and each `base_sha256`
 *  the hash of the current file (of no bytes for a new one). Otherwise nothing is written and `failure` gives the stage
 *  and the reason; the content of a proposal never makes it reject. Existing files keep their permission bits; a new one is
 *  executable if it begins with `#!`. If a write fails, the earlier writes are undone exactly and the failure is
 *  `write_failed`. `refuses` may refuse the checked writes. */
export async function applyProposal(
  workspace: string,
  order: OrderScope,
  proposal: WriteProposal,
  refuses: (writes: readonly CheckedWrite[]) => Promise<StageFailure | undefined> = async () => undefined,
): Promise<Applied> {
  const touched = touchedBy(proposal);
  const checked = await checkProposal(workspace, order, proposal);
  if ('stage' in checked) return { touched, failure: checked };
  const refused = await refuses(checked.writes);
  if (refused !== undefined) return { touched, failure: refused };
  const undo: (() => Promise<void>)[] = [];
  const undoAll = async (): Promise<void> => {
    for (const step of undo.reverse()) await step();
  };
  try {
    for (const write of checked.writes) {
      const failure = escapedPath(workspace, write.path);
      if (failure !== undefined) {
        await undoAll();
        return { touched, failure };
      }
      await writeOne(workspace, write, undo);
    }
    return { touched };
  } catch (error) {
    await undoAll();
    // Another answer would need as much disk space, and this one has been paid for.
    if (isDisks(error)) throw error;
    return { touched, failure: stageFailure('write_failed', errorText(error)) };
  }
}

/** Permission bits of the written file; a link to nothing counts as no file. */
const modeOf = ({ path, before, content }: CheckedWrite): number => {
  const isNew = before.is === 'absent' || before.bytes === undefined;
  if (!isNew) return before.mode;
  // In Rust, `#![` begins an attribute. Among packages, an executable would run in place of a program of that name.
  return /^#!(?!\s*\[)/.test(content) && !isAmongPackages(path) ? 0o755 : 0o644;
};

async function writeOne(
  workspace: string,
  write: CheckedWrite,
  undo: (() => Promise<void>)[],
): Promise<void> {
  assertNoLinkAbove(workspace, write.path);
  const path = join(workspace, write.path);
  const { before } = write;
  const firstMade = makeFolder(dirname(path));
  if (firstMade !== undefined) undo.push(async () => removeNow(firstMade));
  await writeFileAtomic(path, write.content, { mode: modeOf(write) });
  switch (before.is) {
    case 'absent':
      undo.push(async () => removeNow(path));
      return;
    case 'file':
      undo.push(() => writeFileAtomic(path, before.bytes, { mode: before.mode }));
      return;
    case 'link':
      undo.push(async () => {
        removeNow(path);
        await symlink(before.target, path);
      });
  }
}
