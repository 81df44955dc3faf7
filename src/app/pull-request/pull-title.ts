/** The title of a pull request. It begins the message of a squashed commit, where words such as "fixes #7" close an issue: the title of a
 *  run may be that of a stranger's issue. */
const closing =
  /\b(clos(?:e[sd]?)|fix(?:e[sd])?|resolve[sd]?)(:?\s*:?\s*)((?:[\w.-]+\/[\w.-]+)?#\d|gh-\d|https?:\/\/\S+\/(?:issues|pull)\/\d)/gi;

/** The same words, none of which closes an issue. */
export const pullTitle = (title: string): string =>
  title.replace(closing, (_, verb: string, space: string, issue: string) => {
    const inert = issue.replace('#', '# ').replace(/^gh-/i, 'GH ').replace('://', ': //');
    return `${verb}${space}${inert}`;
  });
