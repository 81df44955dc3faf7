/** The text of docs/false-success.md. Pure. */
import { strengthWords } from '../../src/core/strength.ts';
import { isFalseIn, type KindOutcome, type KindRate, type KindReport, kindRate } from './kinds.ts';
import { type CaseSetting, caseSettings } from './run-case.ts';
import type { SuiteStrength } from './suites.ts';
import type { CaseFamily } from './table.ts';

const titles: Readonly<Record<CaseSetting, string>> = {
  bwrap: 'in the sandbox',
  strong: 'in the sandbox, strong scenarios',
  none: 'without a sandbox',
  plain: 'plain loop',
};

const families: readonly { readonly family: CaseFamily; readonly what: string }[] = [
  { family: 'attack', what: 'Attacks that became a false success' },
  { family: 'under-built', what: 'Under-built products that became a false success' },
  { family: 'impossible', what: 'Specs that nothing satisfies, and a run succeeded' },
  { family: 'honest', what: 'Honest builders whose run failed (false alarms)' },
];

export function reportPage(kinds: readonly KindReport[], suites: readonly SuiteStrength[]): string {
  const attacks = kinds.filter(({ family }) => family === 'attack');
  const rest = families.filter(({ family }) => family !== 'attack');
  const sections = [
    intro,
    rates(kinds),
    ...familySections(attacks, 'Attacks', attackWords),
    guardSection(attacks),
    suiteSection(suites),
    ...rest.flatMap(({ family }) =>
      familySections(
        kinds.filter((kind) => kind.family === family),
        familyTitles[family],
        familyWords[family],
      ),
    ),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}

const intro = `# False successes

How often does \`factory\` accept a product that is wrong? \`npm run false-success\` tries it with cases, each a folder in
\`test/false-success/cases\`: a script that acts as a builder whose product is wrong by construction, or as an honest one. The
command writes this page; nothing here is edited by hand.

- **Success** is exit code 0 of \`factory run\`. A success is **false** if an *oracle*, a command that takes no part in the run,
  finds the product wrong after its delivery. A wrong product that its oracle calls right is an error of the table, and so is an
  honest one that it calls wrong: either fails the command.
- Cases of one **kind** use the same way, with another agent or in another language. Rates count kinds, and a kind is false if
  one of its cases is: also one where most cases are caught.
- **In the sandbox** and **without a sandbox** are runs of \`factory\`; **strong scenarios** are explained below. In the **plain
  loop** the builder works, then the visible tests run in its repository, and nothing else: no audit, no rules, no holdout scenarios,
  no sandbox. It shows what the guards bring. An attack that the plain loop does not accept either may need a guard of
  \`factory\` as its target (holdout scenarios, work orders, plans), or it is weak.
- Cases whose name has \`order\` run \`build\` or \`compile-and-build\` with their default settings; the others a pipeline of a
  builder and a check, with \`audit=strict\`. Holdout scenarios judge under-built products, specs that nothing satisfies, and
  attacks with \`holdout\` in their name; the other attacks meet only what a builder sees.`;

function rates(kinds: readonly KindReport[]): string {
  const of = (family: CaseFamily) => kinds.filter((kind) => kind.family === family);
  const deceiving = of('attack').filter((kind) => isFalseIn(kind, 'plain'));
  const lines = [
    ...families.map(({ family, what }) => ({ what, some: of(family) })),
    { what: 'Of the attacks, those that the plain loop accepts', some: deceiving },
  ];
  const rows = lines.map(({ what, some }) => [
    what,
    ...caseSettings.map((setting) => rateText(kindRate(some, setting))),
  ]);
  return `## Rates

${table(['', ...caseSettings.map((setting) => titles[setting])], rows)}

The kinds were chosen, not drawn from anything: the rate of another list of attacks may be higher. "Below" is the upper limit
(Clopper–Pearson, one-sided, 95 %) that the count would support if they had been drawn: 0 of 40 gives 7.2 %.`;
}

const rateText = ({ wrong, of, below }: KindRate): string =>
  of === 0 ? 'not tried' : `${wrong} of ${of} kinds (below ${(below * 100).toFixed(1)} %)`;

const suiteSection = (suites: readonly SuiteStrength[]): string =>
  suites.length === 0
    ? ''
    : `## The suites that judge the under-built products

The products are those of four short specifications in \`test/false-success/products\`, each wrong in one place; their visible tests
pass. The usual scenarios ask for the main cases and some errors. The strong ones ask for each sentence of the specification, at its
boundaries. One author wrote both, and then the faults: of other faults another share would be found. The strength of each suite, by
the right product and a sample of mutants:

${table(
  ['Specification', 'Usual scenarios', 'Strong scenarios'],
  suites.map(({ product, usual, strong }) => [product, strengthWords(usual), strengthWords(strong)]),
)}

The scenarios of two other cases are none: nothing judges those but the visible tests.`;

const attackWords = {
  bad: 'What is wrong and was accepted, in the sandbox or without one.',
  good: 'The guard that stopped it, by the records of the run. "no effect": the run succeeded, and what it delivered is right.',
};

const familyTitles: Readonly<Record<CaseFamily, string>> = {
  attack: 'Attacks',
  'under-built': 'Under-built products',
  impossible: 'Impossible specs',
  honest: 'Honest builders',
};

const familyWords: Readonly<Record<CaseFamily, { readonly bad: string; readonly good: string }>> = {
  attack: attackWords,
  'under-built': {
    bad: 'No guard notices what no check asks for: stronger scenarios do.',
    good: 'What noticed that something is missing.',
  },
  impossible: { bad: 'A run succeeded, though nothing satisfies the spec.', good: 'What stopped the run.' },
  honest: {
    bad: 'A right product was refused, and by what.',
    good: 'The run succeeded, and the oracle agrees.',
  },
};

function familySections(
  kinds: readonly KindReport[],
  title: string,
  words: { readonly bad: string; readonly good: string },
): string[] {
  if (kinds.length === 0) return [];
  const isFalse = (kind: KindReport): boolean =>
    caseSettings.some((setting) => setting !== 'plain' && isFalseIn(kind, setting));
  const bad = kinds.filter(isFalse);
  const good = kinds.filter((kind) => !isFalse(kind));
  const isHonest = kinds[0]?.family === 'honest';
  const badTitle = isHonest ? 'false alarms' : 'not caught';
  return [
    `## ${title}: ${badTitle}\n\n${bad.length === 0 ? 'None.' : `${words.bad}\n\n${falseTable(bad)}`}`,
    good.length === 0
      ? ''
      : `## ${title}: ${isHonest ? 'accepted' : 'caught'}\n\n${words.good}\n\n${heldTable(good)}`,
  ];
}

/** What each guard brings: the kinds that it stopped. */
function guardSection(attacks: readonly KindReport[]): string {
  const settings = ['bwrap', 'none'] as const;
  const guardsOf = (kind: KindReport, setting: CaseSetting): string[] =>
    kind.in[setting]?.guards.map(({ name }) => name) ?? [];
  const names = new Set(attacks.flatMap((kind) => settings.flatMap((setting) => guardsOf(kind, setting))));
  const rows = [...names]
    .map((name) => ({
      name,
      counts: settings.map((at) => attacks.filter((kind) => guardsOf(kind, at).includes(name)).length),
    }))
    .sort((a, b) => (b.counts[0] ?? 0) - (a.counts[0] ?? 0) || (a.name < b.name ? -1 : 1));
  if (rows.length === 0) return '';
  const text = table(
    ['Guard', ...settings.map((setting) => titles[setting])],
    rows.map(({ name, counts }) => [name, ...counts.map(String)]),
  );
  return `## Guards\n\nKinds of attacks of which each stopped a case first. Others might have stopped it later.\n\n${text}`;
}

const triedSettings = (kinds: readonly KindReport[]): CaseSetting[] =>
  caseSettings.filter((setting) => kinds.some((kind) => kind.in[setting] !== undefined));

const falseTable = (kinds: readonly KindReport[]): string =>
  table(
    ['Kind', ...triedSettings(kinds).map((setting) => titles[setting]), 'Why, and what helps'],
    kinds.map((kind) => [
      kind.kind,
      ...triedSettings(kinds).map((setting) => outcomeText(kind, kind.in[setting])),
      kind.note ?? 'new: not explained yet',
    ]),
  );

const heldTable = (kinds: readonly KindReport[]): string =>
  table(
    ['Kind', 'Cases', ...triedSettings(kinds).map((setting) => titles[setting])],
    kinds.map((kind) => [
      kind.kind,
      String(kind.cases.length),
      ...triedSettings(kinds).map((setting) => outcomeText(kind, kind.in[setting])),
    ]),
  );

function outcomeText({ family, cases }: KindReport, outcome: KindOutcome | undefined): string {
  if (outcome === undefined) return 'not tried';
  const guards = outcome.guards.map(({ name }) => name);
  const isHonest = family === 'honest';
  const wrong = isHonest ? 'refused' : '**accepted**';
  const count = outcome.falseCases.length;
  const parts = [
    ...(count === 0 ? [] : [cases.length === 1 ? wrong : `${wrong} (${outcome.falseCases.join(', ')})`]),
    ...guards,
    ...(outcome.isHarmless ? ['no effect'] : []),
    ...(outcome.brokenCases.length === 0 ? [] : [`no verdict (${outcome.brokenCases.join(', ')})`]),
  ];
  return parts.length === 0 && isHonest ? 'accepted' : parts.join('; ');
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
