/** An esbuild plugin that creates the schemas of a module on first use. A small run uses one in ten of them, and creating
 *  all would delay every start noticeably. */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { transform } from 'esbuild';

/** A module constant that begins like a schema. In esbuild's output a statement ends where the next line begins without
 *  indentation and with anything except a bracket. */
const schema =
  /^(export )?const (\w+) = ((?:z\.(?!lazy\()|[A-Z]\w*\.(?:omit|pick|extend|optional|nullable|nullish)\()[\s\S]*?);$(?=\n[^\s})\]`]|\n*(?![\s\S]))/gm;

/** The replacement for a schema. zod's registry entries by identity (descriptions) work for it too. zod cannot print it
 *  as a JSON schema everywhere; the tests check the printed schemas. */
const whenAsked = `
import { globalRegistry } from 'zod';
export function whenAsked(make) {
  let made;
  const it = () => {
    if (made !== undefined) return made;
    made = make();
    const told = globalRegistry.get(made);
    if (told !== undefined) globalRegistry.add(place, told);
    return made;
  };
  const place = new Proxy({}, {
    get: (_, key) => it()[key],
    has: (_, key) => key in it(),
    getPrototypeOf: () => Object.getPrototypeOf(it()),
    ownKeys: () => Reflect.ownKeys(it()),
    getOwnPropertyDescriptor: (_, key) => {
      const found = Reflect.getOwnPropertyDescriptor(it(), key);
      return found === undefined ? undefined : { ...found, configurable: true };
    },
  });
  return place;
}`;

export const schemasWhenAsked = {
  name: 'schemas-when-asked',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^when-asked$/ }, ({ path }) => ({ path, namespace: 'when-asked' }));
    onLoad({ filter: /./, namespace: 'when-asked' }, () => ({
      contents: whenAsked,
      resolveDir: import.meta.dirname,
    }));
    onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (!/^import \* as z from 'zod';$/m.test(text)) return undefined;
      const { code } = await transform(text, { loader: 'ts', target: 'node20.19', charset: 'utf8' });
      return {
        contents: `import { whenAsked } from 'when-asked';\n${code.replace(schema, '$1const $2 = whenAsked(() => $3);')}`,
        resolveDir: dirname(path),
      };
    });
  },
};
