/** `holdout_beside` names a variable that is a file; otherwise nobody would judge, and nobody would notice. */
import { parseVars } from '../../dot/vars.ts';
import { present } from '../../model/attribute.ts';
import { nearest } from '../../model/nearest.ts';
import { finding, type Rule } from '../rule.ts';

export const holdoutBeside: Rule = ({ graph }) => {
  const attribute = present(graph.attrs, 'holdout_beside');
  if (attribute === undefined) return [];
  const declared = present(graph.attrs, 'vars');
  const files = (declared === undefined ? [] : parseVars(declared.value.text).vars)
    .filter((variable) => variable.file)
    .map(({ name }) => name);
  const name = attribute.value.text.trim();
  if (files.includes(name)) return [];
  const meant = nearest(name, files);
  return [
    finding(graph, 'holdout-beside', 'error', {
      message: `holdout_beside: there is no file variable "${name}"`,
      span: attribute.valueSpan,
      fix:
        meant === undefined
          ? `declare one: vars="${name}=@spec.md"`
          : `did you mean "${meant}"? It names the variable beside whose file the folder "scenarios" lies`,
    }),
  ];
};
