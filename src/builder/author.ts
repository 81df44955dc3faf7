/** Who the run's commits are by. */
import { type Environment, sourceGit } from '../system/git.ts';

export type Author = { readonly name: string; readonly email: string };

/** Stands where the source has no identity: the name that builds of work orders have always had. */
export const fixedAuthor: Author = { name: 'llm-compiler', email: 'llm-compiler@noreply.local' };

/** The identity that git would use in `workdir` (environment, repository, user), else the fixed one. */
export async function authorOf(workdir: string, env: Environment): Promise<Author> {
  const git = sourceGit(workdir, env);
  const listed = await git
    .list(['config', '-z', '--get-regexp', '^(user|author)\\.(name|email)$'])
    .catch(() => []);
  // Each entry is a key, a newline, a value; of a key that is set more than once the last one counts.
  const settings = new Map(
    listed.map((entry) => [entry.split('\n', 1)[0], entry.slice(entry.indexOf('\n') + 1)]),
  );
  const first = (...words: readonly (string | undefined)[]): string =>
    words.map(clean).find((word) => word !== '') ?? '';
  const name = first(env['GIT_AUTHOR_NAME'], settings.get('author.name'), settings.get('user.name'));
  const email = first(env['GIT_AUTHOR_EMAIL'], settings.get('author.email'), settings.get('user.email'));
  return name === '' || email === '' ? fixedAuthor : { name, email };
}

/** What git would leave of a name; a name of nothing but dots and quotes is none. */
function clean(word: string | undefined): string {
  const kept = (word ?? '').replace(/[<>\r\n\0]/g, '').trim();
  return /^[\x00-\x20.,:;"'\\]*$/.test(kept) ? '' : kept;
}
