/** Packs the extension for VS Code: `node scripts/pack-editor.mjs MODULES OUT.vsix`. MODULES is a `node_modules` folder with
 *  `@vscode/vsce` and `vscode-languageclient`, which are no dependencies of this project: `.ci/run` fetches them. */
import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const [modules, out] = process.argv.slice(2);
if (modules === undefined || out === undefined) {
  console.error('usage: node scripts/pack-editor.mjs MODULES OUT.vsix');
  process.exit(2);
}
const source = join(import.meta.dirname, '../editors/vscode');
const folder = await mkdtemp(join(tmpdir(), 'factory-editor-'));
try {
  for (const name of ['package.json', 'README.md', 'language-configuration.json', 'grammar.json'])
    await cp(join(source, name), join(folder, name));
  await cp(join(import.meta.dirname, '../LICENSE'), join(folder, 'LICENSE'));
  await build({
    entryPoints: [join(source, 'extension.cjs')],
    outfile: join(folder, 'extension.js'),
    nodePaths: [resolve(modules)],
    ...{ bundle: true, platform: 'node', format: 'cjs', target: 'node20', minify: true },
    external: ['vscode'],
    logLevel: 'warning',
  });
  const vsce = join(modules, '@vscode/vsce/vsce');
  execFileSync(
    process.execPath,
    [resolve(vsce), 'package', '--no-dependencies', '--allow-missing-repository', '-o', resolve(out)],
    {
      cwd: folder,
      stdio: 'inherit',
    },
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}
