/** The holdout does not cover the whole workspace. */
import { paths, present } from '../../model/attribute.ts';
import { holdoutPaths } from '../../policy/holdout.ts';
import { finding, type Rule } from '../rule.ts';

export const holdout: Rule = ({ graph }) => {
  const attribute = present(graph.attrs, 'holdout');
  const words = attribute === undefined ? undefined : paths().read(attribute.value);
  if (attribute === undefined || words?.ok !== true) return [];
  const read = holdoutPaths(words.value);
  if ('paths' in read) return [];
  return [
    finding(graph, 'holdout', 'error', {
      message: `holdout: ${read.problem}`,
      span: attribute.valueSpan,
      fix: 'name the files and folders of the holdout scenarios, such as holdout="scripts/scenarios/"',
    }),
  ];
};
