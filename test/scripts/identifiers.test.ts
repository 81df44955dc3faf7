/** The names that `npm run words` reads. */
import { join } from 'node:path';
import { expect, test } from 'vitest';

type Identifiers = {
  identifiersIn(code: string): readonly { readonly name: string; readonly index: number }[];
  privateWord(name: string): string | undefined;
};
const { identifiersIn, privateWord }: Identifiers = await import(
  join(import.meta.dirname, '../../scripts/identifiers.mjs')
);
const namesIn = (code: string) => identifiersIn(code).map(({ name }) => name);

test.for<[code: string, names: readonly string[]]>([
  ['const told = said.stands?.doors;', ['const', 'told', 'said']],
  ['f({ told: a, ...said }, [...stands]);', ['f', 'told', 'a', 'said', 'stands']],
  ['\'told\' + "said" // stands\n/* doors */ + wanted', ['wanted']],
  ["const it = 'it\\'s told';", ['const', 'it']],
  ['`told ${a} said ${`${b} stands`} doors` + c', ['a', 'b', 'c']],
  ['`${{ a: 1 }} told` + b', ['a', 'b']],
  ["x = /it's [/] told/g.test(y)", ['x', 'y']],
  ["return /'/ && told", ['return', 'told']],
  ["a / told / 2; b(')')", ['a', 'told', 'b']],
  ['type Told<T> = { readonly said?: T };', ['type', 'Told', 'T', 'readonly', 'said', 'T']],
])('the names in %j are %j', ([code, names]) => {
  expect(namesIn(code)).toEqual(names);
});

test.for<[name: string, isPrivate: boolean]>([
  ['told', true],
  ['toldReason', true],
  ['hasBegun', true],
  ['PhaseDoors', true],
  ['class_said', true],
  ['taken', true],
  ['takenOver', false],
  ['edgeNeverTaken', false],
  ['mendicant', false],
  ['besides', false],
  ['understands', false],
  ['unwanted', false],
])('whether %s is a private word: %s', ([name, isPrivate]) => {
  expect(privateWord(name) !== undefined).toBe(isPrivate);
});
