/** The files of an order in a prompt. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contextLimit, renderPrompt } from '../../src/builder/prompt.ts';
import { emptySha256 } from '../../src/core/orders/proposal.ts';
import { sha256 } from '../../src/core/sha256.ts';
import { folder } from './support.ts';

const order = (path: string) => ({
  ...{
    id: 'WO-01',
    title: 't',
    intent: 'i',
    preconditions: [],
    postconditions: [],
    forbidden: [],
    notes: ' ',
  },
  ...{ allowed_files: [path], context_files: [path], acceptance_commands: [], verify_exempt: false },
});
const template = '{{INTENT}}|{{ALLOWED_FILES}}|{{NOTES}}|{{CONTEXT_FILES}}';

const told = (content: string | Buffer, shown: string): string =>
  `### f\nexists: yes\nsha256: ${sha256(Buffer.from(content))}\n${shown}`;
const room = contextLimit - 1;
const outside = '### f\n(cannot be shown or written: a link that leaves the project, or an unreadable file)';

test.for<[string, string | Buffer | ((path: string) => void), string]>([
  ['text without a last line end', 'a', told('a', '```\na\n```')],
  ['text with a byte order mark', '\uFEFFa\n', told('\uFEFFa\n', '```\n\uFEFFa\n```')],
  ['text with fences', '````\n', told('````\n', '`````\n````\n`````')],
  ['no bytes', '', told('', '(empty)')],
  ['a zero byte', 'a\0', told('a\0', '(binary, 2 bytes, not shown)')],
  [
    'bytes that are not UTF-8',
    Buffer.from([0xe4, 0x0a]),
    told(Buffer.from([0xe4, 0x0a]), '(binary, 2 bytes, not shown)'),
  ],
  [
    'a character across the limit',
    `${'x'.repeat(room)}ä`,
    told(
      `${'x'.repeat(room)}ä`,
      `\`\`\`\n${'x'.repeat(room)}\n\`\`\`\n(cut: ${room} of ${room + 2} bytes are shown)`,
    ),
  ],
  [
    'exactly as many bytes as fit',
    `${'x'.repeat(room)}\n`,
    told(`${'x'.repeat(room)}\n`, `\`\`\`\n${'x'.repeat(room)}\n\`\`\``),
  ],
  ['nothing', () => {}, `### f\nexists: no\nsha256: ${emptySha256}`],
  ['a folder', (path) => mkdirSync(path), `### f\nexists: no\nsha256: ${emptySha256}`],
  ['a dangling link', (path) => symlinkSync('none', path), `### f\nexists: no\nsha256: ${emptySha256}`],
  ['a link in a cycle', (path) => symlinkSync('f', path), outside],
  ['a link that leaves the project', (path) => symlinkSync('../project-beside/x', path), outside],
])('a prompt shows %s as far as permitted', async ([, content, shown]) => {
  using it = folder({ 'project/x': '', 'project-beside/x': 'secret' });
  const path = join(it.path, 'project/f');
  if (typeof content === 'function') content(path);
  else writeFileSync(path, content);
  const facts = { order: order('f'), attempt: 1, verify: [], brief: null };
  const prompt = await renderPrompt(template, join(it.path, 'project'), facts);
  expect(prompt).toEqual({ text: `i|- f|(none)|${shown}` });
});
