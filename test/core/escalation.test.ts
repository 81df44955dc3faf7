import { expect, test } from 'vitest';
import { escalationAt, modelOf, modelsOf } from '../../src/core/escalation.ts';
import { graphOf } from '../support/graph.ts';

function node(attributes: string) {
  const found = graphOf(`a [${attributes}]`).nodes.get('a');
  if (found === undefined) throw new Error('no node');
  return found;
}

test.for([
  ['', []],
  ['llm_model=one', []],
  ['model="small, large"', ['small', 'large']],
  ['llm_model="a,b,c"', ['a', 'b', 'c']],
] as const)('the models of %j are %j', ([attributes, models]) => {
  expect(modelsOf(node(attributes))).toEqual(models);
});

test.for([
  [undefined, 'small'],
  [0, 'small'],
  [1, 'middle'],
  [2, 'large'],
  [7, 'large'],
] as const)('after %s product failures the model is %s', ([failures, model]) => {
  const context = failures === undefined ? {} : { 'internal.escalation.a': failures };
  expect(modelOf(node('llm_model="small,middle,large"'), context)).toEqual({
    model,
    escalation: failures ?? 0,
  });
});

test.for([
  ['the first execution, after any failure', 0, 0, { class: 'product' }, 0],
  ['an execution after a product failure', 0, 1, { class: 'product' }, 1],
  ['a second one', 1, 2, { class: 'product' }, 2],
  ['one after a failure of another class', 1, 2, { class: 'infra' }, 1],
  ['one without a failure before', 2, 3, null, 0],
] as const)('%s counts', ([, before, visits, failure, expected]) => {
  expect(escalationAt(before, visits, failure)).toBe(expected);
});
