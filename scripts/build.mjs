/** Builds `dist/`: one script with V8's code cache, which is the command line and the library. */
import { execFileSync } from 'node:child_process';
import {
  appendFile,
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build as esbuild } from 'esbuild';
import { programTexts } from './program-text.mjs';

// Built in a temporary folder and then swapped, so that a failing build leaves the last one intact.
const out = `dist.${process.pid}.tmp`;
/** Packages that most commands never load: a quarter of the code that would be read at every start. */
const large = [
  'openai',
  'pino',
  'acorn',
  '@hpcc-js/wasm-graphviz',
  '@clack/prompts',
  '@agentclientprotocol/sdk',
];
const grammars = ['bash', 'go', 'java', 'javascript', 'python', 'regex', 'rust', 'tsx', 'typescript'];
/** Several packages are called `sdk`. */
const fileNames = { '@agentclientprotocol/sdk': 'acp' };
const fileOf = (name) => fileNames[name] ?? name.replace(/^.*\//, '');
/** Has programs for each platform, which cannot be bundled. */
const native = '@resvg/resvg-js';
const apart = {
  name: 'apart',
  setup({ onResolve }) {
    const filter = new RegExp(`^(?:${large.join('|')})$`);
    onResolve({ filter }, ({ path }) => ({ path: `./${fileOf(path)}.cjs`, external: true }));
    // A module has what the script lacks: `import()`.
    onResolve({ filter: /\/import-module\.ts$/ }, () => ({ path: './import-module.cjs', external: true }));
    onResolve({ filter: /\/protocol\.ts$/ }, () => ({ path: './lsp.cjs', external: true }));
    onResolve({ filter: /\/mcp-protocol\.ts$/ }, () => ({ path: './mcp.cjs', external: true }));
    onResolve({ filter: /\/proxy-agent\.ts$/ }, () => ({ path: './undici.cjs', external: true }));
    onResolve({ filter: /\/anthropic-sdk\.ts$/ }, () => ({ path: './anthropic.cjs', external: true }));
  },
};
/** Of undici the agent for proxies, with the one method of all dispatchers that it calls: half of the package. */
const partOfUndici = {
  name: 'part-of-undici',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: 'part' }));
    onLoad({ filter: /./, namespace: 'part' }, () => ({
      contents: `
        const { prototype } = require('undici/lib/dispatcher/dispatcher.js');
        prototype.connect = require('undici/lib/api/api-connect.js');
        exports.EnvHttpProxyAgent = require('undici/lib/dispatcher/env-http-proxy-agent.js');`,
      resolveDir: resolve('.'),
    }));
  },
};
/** Compiled into a package whose own notices do not name it. */
const within = {
  '@hpcc-js/wasm-graphviz': [
    'It contains, compiled, Graphviz (Eclipse Public License, https://graphviz.org/license/; its source: https://gitlab.com/graphviz/graphviz) and Expat (MIT).',
  ],
};

/** The folders of the packages that a bundle contains. */
const bundled = new Set();
const build = async (options) => {
  const result = await esbuild({ ...options, metafile: true });
  for (const input of Object.keys(result.metafile.inputs)) {
    const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input.replace(/^[\w-]+:/, '')) ?? [];
    if (folder !== undefined) bundled.add(folder);
  }
  return result;
};
const common = {
  outdir: out,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  logLevel: 'warning',
  logOverride: { 'import-is-undefined': 'error' },
};
try {
  // CommonJS: Node's module loader alone would take a third of the start-up time.
  await build({
    ...common,
    format: 'cjs',
    entryPoints: { cli: 'src/cli/main.ts' },
    define: { 'import.meta.url': 'place' },
    banner: { js: "const place = require('node:url').pathToFileURL(__filename).href;" },
  });
  await build({
    ...common,
    format: 'cjs',
    outdir: undefined,
    outfile: `${out}/program.cjs`,
    // Two ways in, in one file: a second bundle for the library would be most of the package. Neither evaluates the other.
    stdin: {
      contents: `
        export const commandLine = () => void require('./src/cli/process.ts');
        export const library = () => require('./src/index.ts');`,
      resolveDir: resolve('.'),
    },
    // A script that is not a module has no `import()`.
    supported: { 'dynamic-import': false },
    // Less code to read at every start. Functions keep their names, for readable stack traces.
    minify: true,
    keepNames: true,
    charset: 'ascii',
    define: { 'import.meta.url': 'place' },
    plugins: [
      programTexts,
      whenCalled('node:fs/promises', 'node:zlib', 'acorn'),
      await schemasWhenCalled(),
      apart,
    ],
    external: [native, 'hono', 'hono/*', '@hono/node-server'],
    banner: { js: '(function (require, place, module) {' },
    footer: { js: '})' },
  });
  await build({
    ...common,
    format: 'cjs',
    minify: true,
    entryPoints: {
      ...Object.fromEntries(large.map((name) => [fileOf(name), name])),
      'import-module': 'src/platform/import-module.ts',
      lsp: 'src/lsp/protocol.ts',
      anthropic: 'src/agents/openai/anthropic-sdk.ts',
      undici: 'src/platform/proxy-agent.ts',
    },
    outExtension: { '.js': '.cjs' },
    plugins: [partOfUndici],
  });
  // A third of its size without names and white space.
  await build({
    ...common,
    format: 'cjs',
    minify: true,
    entryPoints: { mcp: 'src/web/mcp-protocol.ts' },
    outExtension: { '.js': '.cjs' },
  });
  await buildGrammars();
  await buildPage();
  await spellOut(`${out}/program.cjs`);
  await buildLibrary();
  await writeFile(`${out}/licenses.txt`, await licenses());
  await writeFile(`${out}/package.json`, '{ "type": "commonjs" }\n');
  await chmod(`${out}/cli.js`, 0o755);
  // This folder is first on a tool's PATH: `factory` in a pipeline is the factory that runs it.
  await mkdir(`${out}/bin`, { recursive: true });
  await writeFile(
    `${out}/bin/factory`,
    '#!/bin/sh\nexec "${FACTORY_NODE_EXEC:-node}" "$(dirname "$0")/../cli.js" "$@"\n',
    { mode: 0o755 },
  );
  await warm();
  await rm('dist', { recursive: true, force: true });
  await rename(out, 'dist');
} finally {
  await rm(out, { recursive: true, force: true });
}

/** The licences of all packages that are part of this one's files, with their notices. */
async function licenses() {
  const texts = [];
  for (const folder of [...bundled].sort()) {
    const { name, version, license, licenses } = JSON.parse(
      await readFile(join(folder, 'package.json'), 'utf8'),
    );
    const names = (await readdir(folder))
      .filter((one) => /^(?:licen[cs]es?|copying|notice)\b/i.test(one))
      .sort();
    const notices = await Promise.all(names.map((one) => readFile(join(folder, one), 'utf8')));
    const title = `${name} ${version} (${license ?? JSON.stringify(licenses)})`;
    texts.push([title, ...(within[name] ?? []), ...notices.map((one) => one.trim())].join('\n\n'));
  }
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** The library by its names, from the program. */
async function buildLibrary() {
  const { metafile } = await esbuild({
    ...common,
    format: 'esm',
    entryPoints: ['src/index.ts'],
    packages: 'external',
    plugins: [programTexts],
    metafile: true,
    write: false,
  });
  const [{ exports: names }] = Object.values(metafile.outputs);
  await build({
    ...common,
    format: 'esm',
    stdin: {
      contents: `
        import { loadProgram } from './src/platform/load-program.ts';
        export const { ${names.join(', ')} } = loadProgram(import.meta.url).library();`,
      resolveDir: resolve('.'),
    },
    outdir: undefined,
    outfile: `${out}/index.mjs`,
  });
}

/** Grammars of the languages whose programs have mutants, with their runtime. Only those commands load them that parse source
 *  code; compressed they take a tenth of their size, and 20 ms to unpack. Better compression would take longer than the rest of the
 *  build. */
async function buildGrammars() {
  const folder = 'node_modules/@vscode/tree-sitter-wasm/wasm';
  await build({
    ...common,
    format: 'cjs',
    minify: true,
    entryPoints: { 'tree-sitter': `${folder}/tree-sitter.js` },
    outExtension: { '.js': '.cjs' },
  });
  await mkdir(`${out}/grammars`);
  for (const name of ['tree-sitter', ...grammars.map((grammar) => `tree-sitter-${grammar}`)]) {
    const bytes = await readFile(`${folder}/${name}.wasm`);
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: 7,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    };
    await writeFile(`${out}/grammars/${name}.wasm.br`, await promisify(brotliCompress)(bytes, { params }));
  }
}

/** What the browser loads from `factory serve`: the page, the parts that it loads when they are first needed, and each file
 *  compressed. */
async function buildPage() {
  const { metafile } = await build({
    outdir: `${out}/page`,
    bundle: true,
    splitting: true,
    format: 'esm',
    // The server lets browsers keep files with such a name for good.
    chunkNames: 'part-[hash]',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    minify: true,
    logLevel: 'warning',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryPoints: ['main.tsx', 'app.css'].map((name) => ({ in: `src/web/page/${name}`, out: 'app' })),
  });
  await appendFile(`${out}/page/app.css`, await pictureRules());
  await cp('src/web/page/icon.svg', `${out}/page/icon.svg`);
  await writeFile(`${out}/page/index.html`, await indexPage(metafile));
  for (const name of await readdir(`${out}/page`)) await compress(`${out}/page/${name}`);
}

/** The page with links to what its script imports, which a browser would otherwise ask for only when it has read the script. */
async function indexPage({ outputs }) {
  const links = outputs[`${out}/page/app.js`].imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `<link rel="modulepreload" href="/${fileOf(path)}" />\n    `);
  const text = await readFile('src/web/page/index.html', 'utf8');
  return text.replace('<script', `${links.join('')}<script`);
}

/** Writes what is shorter than the file next to it: the server sends that to a browser that can read it. Brotli, which browsers read
 *  from HTTPS alone, would save a tenth. */
async function compress(path) {
  const bytes = await readFile(path);
  const compressed = await promisify(gzip)(bytes, { level: 9 });
  if (compressed.length < bytes.length) await writeFile(`${path}.gz`, compressed);
}

/** Rules for the pictures that the page has inline, with their colours for light and dark. */
async function pictureRules() {
  const { outputFiles } = await build({
    stdin: {
      contents: `export { pictureStylesheet } from './stylesheet.ts'; export { colours } from './marks.ts';`,
      resolveDir: 'src/app/picture',
    },
    bundle: true,
    format: 'esm',
    write: false,
  });
  const { pictureStylesheet, colours } = await import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
  );
  const variables = Object.entries(colours).map(
    ([name, [light, dark]]) => `--picture-${name}:light-dark(${light},${dark});`,
  );
  return `:root{${variables.join('')}}\n${pictureStylesheet()}`;
}

/** Modules that most runs do not need are loaded at the first call of one of their functions: each takes one to ten
 *  milliseconds. */
function whenCalled(...modules) {
  return {
    name: 'when-called',
    setup({ onResolve, onLoad }) {
      const filter = new RegExp(`^(?:${modules.join('|')})$`);
      onResolve({ filter }, ({ path, namespace }) =>
        namespace === 'when-called' ? { path, external: true } : { path, namespace: 'when-called' },
      );
      onLoad({ filter, namespace: 'when-called' }, async ({ path }) => {
        const names = Object.keys(await import(path)).filter((name) => name !== 'default');
        const from = large.includes(path) ? `./${fileOf(path)}.cjs` : path;
        return {
          contents: `
            import { createRequire } from 'node:module';
            ${atFirstCall(names, `createRequire(import.meta.url)('${from}')`)}`,
        };
      });
    },
  };
}

/** The text of a module with these names, which evaluates `load` at the first call of one of them. */
function atFirstCall(names, load) {
  return `
  let loaded;
  const real = () => (loaded ??= ${load});
  const called = (name) =>
    new Proxy(function () {}, {
      apply: (_, self, given) => Reflect.apply(real()[name], self, given),
      construct: (_, given) => Reflect.construct(real()[name], given),
      get: (_, key) => real()[name][key],
    });
  ${names.map((name) => `const $${name} = called('${name}'); export { $${name} as ${name} };`).join('\n')}`;
}

/** The same for the library of schemas, which is part of the program: a small run needs none of it. Only what our sources
 *  use of it is kept. Schemas check by walking instead of generating code: code generation takes longer than a run that uses
 *  each schema once or twice saves. */
async function schemasWhenCalled() {
  const names = await usedOf(/\bz\s*\.(\w+)/g, await import('zod'));
  const resolveDir = resolve('src');
  return {
    name: 'schemas-when-called',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^zod$/ }, ({ namespace }) =>
        namespace === 'file' ? { path: 'zod', namespace: 'schemas' } : undefined,
      );
      onResolve({ filter: /^used-of-zod$/ }, ({ path }) => ({ path, namespace: 'used' }));
      onLoad({ filter: /./, namespace: 'schemas' }, () => ({
        contents: atFirstCall(names, `require('used-of-zod')`),
        resolveDir,
      }));
      onLoad({ filter: /./, namespace: 'used' }, () => ({
        contents: `import { config } from 'zod'; config({ jitless: true }); export { ${names.join(', ')} } from 'zod';`,
        resolveDir,
      }));
    },
  };
}

/** The exports of a module that our sources name in that form. */
async function usedOf(form, module) {
  const named = new Set();
  for (const file of await readdir('src', { recursive: true }))
    if (file.endsWith('.ts'))
      for (const [, name] of (await readFile(join('src', file), 'utf8')).matchAll(form)) named.add(name);
  return [...named].filter((name) => name in module).sort();
}

/** The program is read as Latin-1, which takes half the memory. esbuild does not escape other characters in regular
 *  expressions, so this does. */
async function spellOut(path) {
  const text = await readFile(path, 'utf8');
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  await writeFile(path, text.replace(/[^\x00-\x7f]/g, escaped));
}

/** Stores V8's code cache of a small run. Optional: it only speeds up the start. */
async function warm() {
  const scratch = await mkdtemp(join(tmpdir(), 'factory-build-'));
  try {
    execFileSync(process.execPath, [resolve('scripts/warm.mjs'), resolve(out), scratch], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 60_000,
      // Without the settings of this environment, and without an agent.
      env: { PATH: process.env.PATH, HOME: scratch, FACTORY_SANDBOX: 'none', NODE_EXTRA_CA_CERTS: '' },
    });
  } catch (error) {
    console.warn(`the command line will start more slowly: ${error.stderr ?? ''}${error.message}`);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
