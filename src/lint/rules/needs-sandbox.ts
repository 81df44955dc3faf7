/** Commands with `/tmp` or the home, which a node has for itself only in a sandbox. */
import { finding, nodesOf, type Rule } from '../rule.ts';
import { refusedTexts } from './refused-command.ts';

export const needsSandbox: Rule = {
  code: 'needs-sandbox',
  severity: 'warning',
  rule: 'A command names nothing in `/tmp`, `~` or `$HOME`. The sandbox makes them private and empties them after the node; without one the command is refused.',
  wrong: 'start; exit; a [shape=parallelogram, tool_command="make > /tmp/make.log"]; start -> a -> exit',
  fix: 'a path in the workspace, such as `.factory/make.log`',
  *check(subject) {
    for (const node of [...nodesOf(subject, 'tool'), ...nodesOf(subject, 'verification')]) {
      const [refused] = refusedTexts(node, 'shared');
      // What is refused in a sandbox too is the finding of another rule.
      if (refused === undefined || node.settings.sandbox === 'none') continue;
      if (refusedTexts(node, 'private').length > 0) continue;
      const named = refused.problem.replace(/^.* contains /s, '').replace(/ \([^()]*\)$/, '');
      yield finding(subject.graph, needsSandbox, {
        message: `"${node.id}" needs a sandbox (bubblewrap), and nothing that it leaves there lasts: its command has ${named}`,
        span: refused.span,
        fix: 'write to a path in the workspace, such as .factory/build.log: later nodes see it, and it needs no sandbox',
      });
    }
  },
};
