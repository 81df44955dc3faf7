/** `import text from './x.ts?program'` gives a source and what it imports as the text of one CommonJS script, for programs that
 *  other processes run. For the build (esbuild) and for the tests (vite). */
import { resolve } from 'node:path';
import { build } from 'esbuild';

const suffix = /\?program$/;

async function programText(path) {
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    write: false,
    minifySyntax: true,
    minifyWhitespace: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
  });
  return outputFiles[0].text;
}

export const programTexts = {
  name: 'program-texts',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: suffix }, ({ path, resolveDir }) => ({
      path: resolve(resolveDir, path.replace(suffix, '')),
      namespace: 'program-text',
    }));
    onLoad({ filter: /./, namespace: 'program-text' }, async ({ path }) => ({
      contents: await programText(path),
      loader: 'text',
    }));
  },
};

export const programTextsOfTests = {
  name: 'program-texts',
  enforce: 'pre',
  async load(id) {
    return suffix.test(id)
      ? `export default ${JSON.stringify(await programText(id.replace(suffix, '')))};`
      : undefined;
  },
};
