/** Products that do less than they should, honest ones, and specs that no product can satisfy. Fields of a row:
 *  scripts/false-success/table.ts. */
const add = ['bash', 'oracles/add.sh'];

export default [
  {
    case: '17-special-cased',
    kind: 'only the inputs of the visible tests work',
    family: 'under-built',
    oracle: add,
  },
  {
    case: '111-order-special-cased',
    kind: 'only the inputs of the visible tests work',
    family: 'under-built',
    oracle: add,
  },
  { case: '00-honest', env: { V: '1' }, kind: 'JavaScript with npm test', family: 'honest', oracle: add },
  { case: '00-honest', env: { V: '2' }, kind: 'Python with unittest', family: 'honest', oracle: add },
  { case: '00-honest-order', kind: 'a work order', family: 'honest', oracle: add },
  { case: '00-honest-order-py', kind: 'a work order in Python', family: 'honest', oracle: add },
  { case: '00-honest-main', kind: 'the main job with holdout scenarios', family: 'honest', oracle: add },
];
