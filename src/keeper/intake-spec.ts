/** The spec that an issue becomes: its title, its text, and the comments of people who may write to the repository. All other comments
 *  are left out, whatever they say. */
import type { WriteAccess } from '../github/access.ts';
import type { Issue } from '../github/issues.ts';
import { isByWriters } from '../github/label-trust.ts';
import { hasMark } from '../github/marks.ts';
import { visibleText, withoutInvisible } from '../github/visible-text.ts';

/** `why` continues a sentence that starts with the issue. */
export async function specOfIssue(
  issue: Issue,
  access: WriteAccess,
): Promise<{ readonly spec: string } | { readonly why: string }> {
  const text = visibleText(issue.body, issue.bodyText);
  if (text === undefined) return unended('text');
  const parts = [`# ${withoutInvisible(issue.title).replace(/\s+/g, ' ').trim()}`, text];
  for (const comment of issue.comments) {
    if (comment.isMinimized || hasMark(comment.body) || !(await isByWriters(comment, access))) continue;
    const text = visibleText(comment.body, comment.bodyText);
    if (text === undefined) return unended(`comment ${comment.url}`);
    if (text === '') continue;
    parts.push(`## Comment of ${comment.author?.login}, ${comment.createdAt.slice(0, 10)}`, text);
  }
  return { spec: `${parts.filter((part) => part !== '').join('\n\n')}\n` };
}

const unended = (where: string) => ({
  why: `has an HTML comment without an end in its ${where}: what follows it may be hidden on the page; end it with -->`,
});
