/** Whether the label of an issue says that its present text is to be built. */
import type { Actor, WriteAccess } from './access.ts';
import type { Issue } from './issues.ts';
import type { EditedText } from './written-text.ts';

/** `why` continues a sentence that starts with the issue. */
export type LabelTrust = { readonly trusted: true; readonly by: string } | { readonly why: string };

/** A label counts by who set it last, and only for the text that this person saw. GitHub counts in seconds: an edit in the second of the
 *  label counts as later. */
export async function labelTrust(issue: Issue, label: string, access: WriteAccess): Promise<LabelTrust> {
  const isSame = (name: string) => name.toLowerCase() === label.toLowerCase();
  const last = issue.events.findLast((one) => one.kind !== 'renamed' && isSame(one.label));
  if (last === undefined || last.kind !== 'labeled')
    return { why: `has no label "${label}" whose history says who set it: set it again` };
  const again = `read it, then remove the label "${label}" and set it again`;
  if (!(await access.canWrite(last.actor)))
    return {
      why: `got its label "${label}" from ${actorWords(last.actor)}, who may not write to the repository: ${again}`,
    };
  const changes = [
    ...(issue.lastEditedAt === null ? [] : [{ what: 'text', at: issue.lastEditedAt, by: issue.editor }]),
    // The last editor may have changed a letter of what another has written before.
    ...issue.edits.map(({ at, actor }) => ({ what: 'text', at, by: actor })),
    ...issue.events
      .filter(({ kind }) => kind === 'renamed')
      .map(({ at, actor }) => ({ what: 'title', at, by: actor })),
  ];
  const after = Date.parse(last.at);
  for (const { what, at, by } of changes) {
    if (Date.parse(at) < after || (await access.canWrite(by))) continue;
    return {
      why: `has another ${what} since it got the label, by ${actorWords(by)}, who may not write to the repository: ${again}`,
    };
  }
  const isEdited = issue.lastEditedAt !== null && Date.parse(issue.lastEditedAt) >= after;
  if (isEdited && !issue.hasAllEdits)
    return { why: `has more changes of its text than GitHub lists at once: ${again}` };
  return { trusted: true, by: last.actor?.login ?? '' };
}

const actorWords = (actor: Actor): string =>
  actor === null
    ? 'an account that is gone'
    : `${actor.__typename === 'Bot' ? 'the bot ' : ''}${actor.login}`;

/** Whether every word of a text is by people who may write to the repository. */
export async function isByWriters(
  { author, lastEditedAt, editor }: EditedText,
  access: WriteAccess,
): Promise<boolean> {
  return (await access.canWrite(author)) && (lastEditedAt === null || (await access.canWrite(editor)));
}
