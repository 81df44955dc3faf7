/** Tests made to say less among the changes of one visit or commit, as findings. */
import { isUtf8 } from 'node:buffer';
import type { AuditFinding } from '../model/audit.ts';
import { type FileChange, namesFile, type TamperCode, tamperingIn } from '../policy/tampering.ts';
import type { Tree } from '../workspace/snapshot.ts';

export type Texts = {
  readonly path: string;
  readonly before: Buffer | undefined;
  readonly after: Buffer | undefined;
};

/** Bytes of a file; a larger one was not written by hand. */
const largest = 1024 * 1024;

export function tamperingOf(
  texts: readonly Texts[],
  about: {
    /** An empty `where` is the workspace. */
    readonly place: Pick<AuditFinding, 'node' | 'visit' | 'where'>;
    /** The workspace as the run began. */
    readonly start: Tree;
    /** As it ended; undefined for what lasts anyway. */
    readonly end: Tree | undefined;
    readonly prompt: string;
  },
): AuditFinding[] {
  const { place, start, end, prompt } = about;
  const changes: FileChange[] = texts.flatMap(({ path, before, after }) => {
    const [was, is] = [textOf(before), textOf(after)];
    if (was === undefined && is === undefined) return [];
    return [
      {
        path,
        ...(was === undefined ? {} : { before: was }),
        ...(is === undefined ? {} : { after: is }),
      },
    ];
  });
  const isAsBefore = (path: string): boolean =>
    end !== undefined && start.has(path) && start.get(path)?.hash === end.get(path)?.hash;
  // Tests that came with this run are their writers' own; an order may name the tests that are to be changed.
  const mayRewrite = (path: string): boolean =>
    !start.has(path) || isAsBefore(path) || isOrdered(prompt, path);
  const where = (path: string) => (place.where === '' ? `workspace/${path}` : `${place.where}: ${path}`);
  const found: AuditFinding[] = [];
  for (const one of tamperingIn(changes, mayRewrite)) {
    const { code, severity, path, line, before, after } = one;
    found.push({
      code,
      severity,
      sure: severity === 'warning' ? 'possible' : code === 'test-file-deleted' ? 'certain' : 'likely',
      ...place,
      where: where(path),
      path,
      line,
      message: `${one.why}${isAsBefore(path) ? ' (the file is as it was at the start by now)' : ''}`,
      fix: fixes[code],
      before: cut(before),
      after: cut(after),
    });
  }
  return found;
}

const fixes: Readonly<Record<TamperCode, string>> = {
  'test-file-deleted': 'put the tests back, or say in the order that they go',
  'test-deleted': 'put the test back, or say in the order that it goes',
  'test-skipped': 'have the test run again',
  'assertion-deleted': 'put the assertion back, or say in the order why it goes',
  'assertion-weakened':
    'put the assertion back as it was: the product is to change, not what it is held against',
  'check-silenced': 'let the check fail again where it finds something',
  'check-bypassed': 'take that line out',
};

const verbs =
  /\b(?:update|rewrite|change|adapt|edit|modify|replace|delete|remove|drop|move|rename|adjust|refactor|port|migrate|convert)/i;

/** Whether a line of the prompt speaks of changing that file. What a failed test printed names it, too, but asks for
 *  nothing. */
const isOrdered = (prompt: string, path: string): boolean =>
  prompt.split('\n').some((line) => verbs.test(line) && namesFile(line, path));

function textOf(content: Buffer | undefined): string | undefined {
  if (content === undefined || content.length > largest) return undefined;
  return isUtf8(content) && !content.includes(0) ? content.toString('utf8') : undefined;
}

const cut = (text: string): string => (text.length > 300 ? `${text.slice(0, 299)}…` : text);
