/** A plugin for esbuild: the schemas of a module are made when they are first asked for anything. A small run uses one in
 *  ten of them, and making them all takes a part of every start that can be felt. */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { transform } from 'esbuild';

/** A constant of the module that begins as a schema does. In the code that esbuild prints, a statement of the module ends
 *  where the next line begins at the margin with anything but a bracket. */
const schema =
  /^(export )?const (\w+) = ((?:z\.(?!lazy\()|[A-Z]\w*\.(?:omit|pick|extend|optional|nullable|nullish)\()[\s\S]*?);$(?=\n[^\s})\]`]|\n*(?![\s\S]))/gm;

/** What stands in a schema's place. What zod knows of a schema by its identity (its description) it knows of this as well;
 *  it does not print one as a JSON schema everywhere, and the tests look at those that we print. */
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
