/** Renders the prompt for one work order. */
import { readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { fenced } from '../core/fence.ts';
import { emptySha256 } from '../core/orders/proposal.ts';
import type { WorkOrder } from '../core/orders/work-order.ts';
import type { FailureBrief } from '../core/records/build.ts';
import { sha256 } from '../core/sha256.ts';
import { isMissing } from '../platform/files/write.ts';

/** Bytes of file content shown in total; hashes are shown for every file. */
export const contextLimit = 204_800;

export type PromptFacts = {
  readonly order: WorkOrder;
  readonly attempt: number;
  /** How the whole project is checked afterwards. */
  readonly verify: readonly string[];
  /** Why the previous attempt failed. Its files are not shown: they have been removed, and a model that sees them takes
   *  them for the current files. */
  readonly brief: FailureBrief | null;
};

/** Placeholders that a template may use, each any number of times. */
export const placeholders = [
  'ID',
  'TITLE',
  'INTENT',
  'ALLOWED_FILES',
  'FORBIDDEN',
  'NOTES',
  'ACCEPTANCE_COMMANDS',
  'POSTCONDITIONS',
  'VERIFY_COMMANDS',
  'CONTEXT_FILES',
  'FAILURE_BRIEF',
  'EMPTY_SHA256',
  'ATTEMPT',
] as const;
type Placeholder = (typeof placeholders)[number];

/** The template with its placeholders (`{{TITLE}}`) replaced in one pass, so text from a file or a work order is never taken
 *  for a placeholder. Refused: a template without `{{INTENT}}`, `{{ALLOWED_FILES}}` or `{{CONTEXT_FILES}}`, and one with
 *  an unknown placeholder. */
export async function renderPrompt(
  template: string,
  workspace: string,
  facts: PromptFacts,
): Promise<{ readonly text: string } | { readonly problem: string }> {
  const used = [...template.matchAll(/\{\{([A-Z0-9_]+)\}\}/g)].map((match) => match[1] ?? '');
  const unknown = used.find((name) => !isPlaceholder(name));
  if (unknown !== undefined) {
    return {
      problem: `the template has the unknown placeholder {{${unknown}}}; known are ${placeholders.join(', ')}`,
    };
  }
  const missing = (['INTENT', 'ALLOWED_FILES', 'CONTEXT_FILES'] as const).filter(
    (name) => !used.includes(name),
  );
  if (missing.length > 0)
    return { problem: `the template lacks ${missing.map((name) => `{{${name}}}`).join(', ')}` };
  const { order } = facts;
  const values: Readonly<Record<Placeholder, string>> = {
    ID: order.id,
    TITLE: order.title,
    INTENT: order.intent,
    ALLOWED_FILES: bullets([...order.allowed_files].sort()),
    FORBIDDEN: bullets(order.forbidden),
    NOTES: order.notes === null || order.notes.trim() === '' ? '(none)' : order.notes,
    ACCEPTANCE_COMMANDS: bullets(order.acceptance_commands),
    POSTCONDITIONS: bullets(order.postconditions.map((promise) => `${promise.path} exists`)),
    VERIFY_COMMANDS: bullets(facts.verify),
    CONTEXT_FILES: await contextFiles(workspace, shown(order)),
    FAILURE_BRIEF: facts.brief === null ? '(this is the first attempt)' : briefText(facts.brief),
    EMPTY_SHA256: emptySha256,
    ATTEMPT: String(facts.attempt),
  };
  return {
    text: template.replace(/\{\{([A-Z0-9_]+)\}\}/g, (whole, name: string) =>
      isPlaceholder(name) ? values[name] : whole,
    ),
  };
}

const isPlaceholder = (name: string): name is Placeholder => placeholders.some((known) => known === name);
const bullets = (lines: readonly string[]): string =>
  lines.length === 0 ? '(none)' : lines.map((line) => `- ${line}`).join('\n');

/** Files that may be written come first and get the space first: the model has to see a file that it rewrites. */
const shown = (order: WorkOrder): string[] => [
  ...new Set([...[...order.allowed_files].sort(), ...[...order.context_files].sort()]),
];

const briefText = (brief: FailureBrief): string =>
  [
    `stage: ${brief.stage}`,
    ...(brief.command === null ? [] : [`command: ${brief.command}`]),
    ...(brief.exit_code === null ? [] : [`exit code: ${brief.exit_code}`]),
    'output:',
    fenced(brief.excerpt),
    brief.reminder,
    'The files of that attempt have been discarded; the current files are shown above.',
  ].join('\n');

async function contextFiles(workspace: string, paths: readonly string[]): Promise<string> {
  const root = await realpath(workspace);
  let left = contextLimit;
  const parts: string[] = [];
  for (const path of paths) {
    const bytes = await readInside(root, path);
    if (bytes === 'outside') {
      parts.push(
        `### ${path}\n(cannot be shown or written: a link that leaves the project, or an unreadable file)`,
      );
      continue;
    }
    if (bytes === undefined) {
      parts.push(`### ${path}\nexists: no\nsha256: ${emptySha256}`);
      continue;
    }
    const head = `### ${path}\nexists: yes\nsha256: ${sha256(bytes)}`;
    const text = asText(bytes);
    if (bytes.length === 0) parts.push(`${head}\n(empty)`);
    else if (text === undefined) parts.push(`${head}\n(binary, ${bytes.length} bytes, not shown)`);
    else if (bytes.length <= left) {
      left -= bytes.length;
      parts.push(`${head}\n${fenced(text)}`);
    } else {
      const part = cut(bytes, left);
      left = 0;
      const note = `(cut: ${Buffer.byteLength(part)} of ${bytes.length} bytes are shown)`;
      parts.push(part === '' ? `${head}\n${note}` : `${head}\n${fenced(part)}\n${note}`);
    }
  }
  return parts.length === 0 ? '(none)' : parts.join('\n\n');
}

/** Undefined if there is no regular file; `outside` if a link leaves the workspace or forms a cycle, or the file cannot be
 *  read. */
async function readInside(root: string, path: string): Promise<Buffer | 'outside' | undefined> {
  try {
    const real = await realpath(join(root, path));
    if (!real.startsWith(`${root}${sep}`)) return 'outside';
    return (await stat(real)).isFile() ? await readFile(real) : undefined;
  } catch (error) {
    return isMissing(error) ? undefined : 'outside';
  }
}

/** Undefined for bytes that are not UTF-8 text. */
function asText(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** At most `most` bytes, cut where a character ends. */
function cut(bytes: Buffer, most: number): string {
  let end = most;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
