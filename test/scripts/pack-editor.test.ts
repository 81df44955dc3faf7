/** The extension for VS Code, packed with programs that are no dependencies of this project: `.ci/run` fetches them. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../support/cli.ts';

const modules = process.env['FACTORY_TEST_EDITOR'];
const folder = join(root, 'editors/vscode');

test('the extension is for the language that the server knows, and no folder chooses its program unasked', async () => {
  const { contributes, capabilities, main, files } = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  );
  const server = await readFile(join(root, 'src/lsp/server.ts'), 'utf8');
  expect(server).toContain(`const languageId = '${contributes.languages[0].id}';`);
  expect(capabilities.untrustedWorkspaces).toMatchObject({ restrictedConfigurations: ['factory.path'] });
  expect(files).toContain(main.replace('./', ''));
  for (const name of ['grammar.json', 'language-configuration.json'])
    expect(() => createRequire(import.meta.url)(join(folder, name))).not.toThrow();
});

test.skipIf(modules === undefined)(
  'it is packed with its client in one file',
  { timeout: 120_000 },
  async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'factory-editor-'));
    try {
      const out = join(scratch, 'factory-pipelines.vsix');
      const script = join(root, 'scripts/pack-editor.mjs');
      execFileSync(process.execPath, [script, modules ?? '', out], { stdio: 'pipe' });
      const packed = (await readFile(out)).toString('latin1');
      for (const name of ['extension.js', 'package.json', 'grammar.json', 'language-configuration.json'])
        expect(packed).toContain(`extension/${name}`);
      expect(packed).not.toContain('node_modules/');
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  },
);
