/** The node type `json.check`: files of the workspace are JSON and have the keys that they need. */

/** @param {import('dotfactory').NodeTools} tools */
export default ({ kind, attr, types, succeeded, failed }) =>
  kind({
    type: 'json.check',
    does: 'Checks that files of the workspace are JSON objects with certain keys.',
    attributes: {
      json_files: attr(types.paths(), 'The files to check.', { unset: 'required', example: 'config.json' }),
      json_keys: attr(types.list(), 'Keys that each of them must have.', { unset: 'none', example: 'name, version' }),
    },
    // What `validate` reports.
    check: (node, { file }) =>
      node.attrs.has('json_files')
        ? []
        : [
            {
              code: 'json-check-files',
              severity: 'error',
              message: `node "${node.id}" names no file to check`,
              place: { file, span: node.span },
              fix: 'write json_files="config.json"',
            },
          ],
    // What is wrong with the product is an outcome, not an exception.
    async run({ json_files: files = [], json_keys: keys = [] }, { workspace, files: artifacts }) {
      const problems = [];
      for (const file of files) problems.push(...problemsIn(file, await workspace.read(file, 1024 * 1024), keys));
      await artifacts.keep('problems.txt', problems.map((line) => `${line}\n`).join(''));
      return problems.length === 0
        ? succeeded({ notes: `${files.length} checked`, updates: { 'json.checked': files.length } })
        : failed(problems.join('; '), 'product');
    },
  });

function problemsIn(file, text, keys) {
  if (text === undefined) return [`${file} is missing`];
  try {
    const value = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return [`${file} is no JSON object`];
    return keys.filter((key) => !Object.hasOwn(value, key)).map((key) => `${file} has no "${key}"`);
  } catch (error) {
    return [`${file} is no JSON: ${error.message}`];
  }
}
