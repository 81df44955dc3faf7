/** The folder that a run copies exists. */
import { present } from '../../core/settings/types.ts';
import { finding, type Rule } from '../rule.ts';

export const workdirMissing: Rule = {
  code: 'workdir-missing',
  severity: 'error',
  rule: 'The `workdir` of the graph is a folder. Checked by `factory validate`; a run can name another one with `--workdir`.',
  wrong: 'workdir="nowhere"; start; exit; start -> exit',
  fix: 'a path relative to the pipeline file, or `workdir="none"` for an empty workspace',
  check: ({ graph, options: { files } }) => {
    const workdir = present(graph.attrs, 'workdir');
    if (workdir === undefined || files?.workdir !== 'missing') return [];
    const name = workdir.value.text.trim();
    return [
      finding(graph, workdirMissing, {
        message: `the workdir "${name}" is no folder next to the pipeline file`,
        span: workdir.valueSpan,
        fix: `name an existing folder, relative to the pipeline file${files.near === undefined ? '' : ` (did you mean "${files.near}"?)`}, or write workdir="none" for an empty workspace`,
      }),
    ];
  },
};
