/** `holdout_beside` names a file variable; otherwise no scenarios would run, without a warning. */
import { nearest } from '../../core/nearest.ts';
import { parseVars } from '../../core/variables.ts';
import { finding, type Rule } from '../rule.ts';

export const holdoutBeside: Rule = {
  code: 'holdout-beside',
  severity: 'error',
  rule: '`holdout_beside` names a file variable.',
  wrong: 'holdout_beside=spec; start; exit; start -> exit',
  fix: '`vars="spec=@spec.md"`',
  check: ({ graph }) => {
    const { holdout_beside: name, vars: declared = '' } = graph.settings;
    if (name === undefined) return [];
    const { vars, problems } = parseVars(declared);
    const files = vars.filter((variable) => variable.file).map(({ name }) => name);
    // Invalid entries of `vars` are reported by another rule.
    if (files.includes(name) || problems.some((problem) => problem.name === name)) return [];
    const meant = nearest(name, files);
    return [
      finding(graph, holdoutBeside, {
        message: `holdout_beside: there is no file variable "${name}"`,
        span: graph.attrs.get('holdout_beside')?.valueSpan ?? graph.span,
        fix:
          meant === undefined
            ? `declare one: vars="${name}=@spec.md"`
            : `did you mean "${meant}"? The folder "scenarios" is next to the file of that variable`,
      }),
    ];
  },
};
