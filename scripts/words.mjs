/** Finds private words in texts for people: README, docs, prompts, `--help`, messages and comments of `src`; and in its names.
 *  `node scripts/words.mjs [PATH…]` prints each finding with its place and the word to use; exit code 1 if there are any.
 *  Tests are checked when their path is given. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { identifiersIn, privateWord } from './identifiers.mjs';

const root = join(import.meta.dirname, '..');

/** Phrase → what to say. A blank in a phrase also matches the break between two lines of a comment. */
const everywhere = [
  ['(tell|tells|telling|told) of', 'report, print, warn'],
  ['(is|are|was|were|be|been|being) told', 'is reported; is warned; receives'],
  ['told (by|to|again|apart)', 'reported; distinguished'],
  ['whoever', 'the user; any process that'],
  ['somebody', 'a user; a process'],
  ['(said|asked|read|written|known|wanted) by nobody', 'not set; the default'],
  [
    'nobody (is|has|was|can|says?|said|asked|waits?|wants?|reads?|writes?|answers?|knows?|else|would|could)',
    'name what is missing',
  ],
  ['(go|goes|going|went) on', 'continue, resume'],
  ['(still )?stands? (there|in|at|for ever|so|still)', 'exists, is'],
  ['of (its|their) own', 'separate; own'],
  ['(mend|mends|mended|mending)', 'fix'],
  ['but for', 'except'],
  ['as it (is|was)', 'unchanged'],
  ['beside', 'next to, with'],
  ['says so', 'reports it'],
  ['(is|are|was|were|be|been|stays?) parked', 'suspended'],
  ['what is (sealed|hidden|kept|written|told|said|there|meant|wanted|given|asked)', 'name it'],
  ['what judges', 'holdout scenarios'],
  ['(peek|peeks|peeked) (at|into)', 'leak; read'],
  ['has (a|the|no) word', 'reports'],
  ['(a|an) error of ours', 'internal error'],
  ['(make|made|makes|begun|begin|read|written) anew', 'again; recreate'],
  ['wants? somebody', 'needs attention'],
  ['the judge', 'the holdout'],
  ['(in|of) the house', 'the project'],
];

/** In text for people alone: names in code keep these words. */
const prose = [
  ['stages?', 'node, execution'],
  ['parked', 'suspended'],
  ['purse', 'budget'],
  ['twins?', 'hard link'],
];

/** Quotes, and names of the field that contain a phrase: file → texts that are left out before the search. */
const allowed = {
  'README.md': ['factory stage', 'rollback, mend, proof'],
  // The command `factory order mend` and the attribute `holdout_beside`.
  'src/cli/order-verbs.ts': ['rollback, mend, proof'],
  'src/builder/steps/fix-order.ts': ['factory order mend', '/mend.ts'],
  'src/cli/steps.ts': ["'mend'"],
  'src/core/policy/own-command.ts': ['rollback|mend'],
  'src/holdout/seal.ts': ["'beside'"],
};

/** Fields of records, of the API and attributes keep their names: name → where it may stand. */
const fields = {
  holdout_beside: ['src/'],
  holdoutBeside: ['src/lint/'],
  class_said: ['src/core/'],
  classSaid: ['src/core/', 'src/engine/', 'src/nodes/'],
  told: ['src/core/records/', 'src/engine/cost-ledger.ts', 'src/engine/shared-budget.ts'],
  // Of an edge in a picture: how often the run took it.
  taken: ['src/app/inspect/', 'src/app/picture/', 'src/web/page/views/graph.tsx'],
  said: ['src/cli/scenario-output.ts', 'src/builder/mend.ts'],
  beside: ['src/holdout/seal.ts'],
};
const isField = (name, file) => fields[name]?.some((place) => file.startsWith(place)) ?? false;

const pattern = (phrase) =>
  new RegExp(`(?<![\\w$.-])${phrase.replaceAll(' ', '\\s+(?:\\*\\s+|//\\s+)?')}(?![\\w$(:]|-\\w)`, 'gi');
const compile = (rows) => rows.map(([phrase, say]) => ({ pattern: pattern(phrase), say }));
const rules = { everywhere: compile(everywhere), prose: compile(prose) };

/** Code without what is no text for people: everything but comments and strings becomes blanks, places stay. */
function textOf(code) {
  const parts =
    /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`/g;
  const blank = (text) => text.replace(/[^\n]/g, ' ');
  let text = '';
  let from = 0;
  for (const part of code.matchAll(parts)) {
    text += blank(code.slice(from, part.index)) + part[0];
    from = part.index + part[0].length;
  }
  return text + blank(code.slice(from));
}

/** A page without code blocks and code words; places stay. */
const withoutCode = (page) =>
  page.replace(/```[\s\S]*?```|`[^`\n]*`/g, (code) => code.replace(/[^\n]/g, ' '));

function filesBelow(folder, ending) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((name) => join(folder, name))
    .filter((name) => name.endsWith(ending) && statSync(join(root, name)).isFile());
}

const pages = [
  'README.md',
  'AGENTS.md',
  'CHANGELOG.md',
  ...filesBelow('docs', '.md'),
  ...filesBelow('prompts', '.md'),
];
const sources = [
  ...filesBelow('src', '.ts'),
  ...filesBelow('src', '.tsx'),
  ...filesBelow('test', '.ts'),
].filter((name) => !/fixtures|golden/.test(name));
const given = process.argv.slice(2).map((file) => relative(root, file));
const chosen = [...pages, ...sources].filter((file) =>
  given.length === 0 ? !file.startsWith('test/') : given.some((name) => file.startsWith(name)),
);

const findings = [];
for (const file of chosen) {
  const whole = readFileSync(join(root, file), 'utf8');
  const isCode = /\.tsx?$/.test(file);
  let text = isCode ? textOf(whole) : withoutCode(whole);
  for (const quote of allowed[file] ?? []) text = text.replaceAll(quote, ' '.repeat(quote.length));
  const place = (index) => `${file}:${whole.slice(0, index).split('\n').length}`;
  for (const { pattern, say } of isCode ? rules.everywhere : [...rules.everywhere, ...rules.prose])
    for (const hit of text.matchAll(pattern))
      findings.push(`${place(hit.index)}: "${hit[0].replace(/\s+/g, ' ')}": say ${say}`);
  if (file.startsWith('src/'))
    for (const { name, index } of identifiersIn(whole)) {
      const say = privateWord(name);
      if (say === undefined || isField(name, file)) continue;
      findings.push(`${place(index)}: the name ${name}: ${say}`);
    }
}
for (const finding of findings) console.log(finding);
if (findings.length > 0)
  console.log(`${findings.length} private ${findings.length === 1 ? 'word' : 'words'}: use the plain one`);
process.exitCode = findings.length === 0 ? 0 : 1;
