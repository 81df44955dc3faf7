/** `factory explain`: what an attribute, a node type or a code means, or how a node of a pipeline is executed. */

import { type ExplainedNode, type ExplainFlags, explainNode } from '../app/explain-node.ts';
import { kindsOf } from '../app/kinds.ts';
import { ownKindsFor } from '../app/own-kinds.ts';
import { pipelinePath } from '../app/pipelines.ts';
import { allWords, attributeReference, lintCodes, type Meaning, meaningsOf } from '../app/reference.ts';
import type { NodeKind } from '../core/contracts/node-kind.ts';
import { type Diagnostic, wrong } from '../core/diagnostic.ts';
import { unreachable } from '../core/json.ts';
import { findingCodes } from '../planner/findings.ts';
import type { Io } from './io.ts';
import { columns, oneLine } from './report/run.ts';

type ExplainOptions = ExplainFlags & { readonly pipeline?: string; readonly json?: boolean };

/** Prints every meaning of `word`, or with a pipeline its node of this name; without a word, all words. */
export async function explainCommand(
  word: string | undefined,
  options: ExplainOptions,
  io: Io,
): Promise<number | { readonly problems: readonly Diagnostic[] }> {
  const { pipeline, json, ...flags } = options;
  if (pipeline !== undefined) {
    if (word === undefined)
      return {
        problems: [
          wrong('usage', '--pipeline explains one node', 'name it: factory explain NODE --pipeline FILE'),
        ],
      };
    const node = await explainNode(pipelinePath(pipeline, io.cwd), word, flags, io);
    if ('problems' in node) return node;
    io.out(json === true ? asJson(node) : nodeText(node));
    return 0;
  }
  const all = kindsOf(await ownKindsFor(io.cwd));
  if (word === undefined) {
    io.out(options.json === true ? asJson({ words: allWords(all) }) : wordList(all));
    return 0;
  }
  const { found, nearest } = meaningsOf(word, all);
  if (found.length === 0) {
    const fix = nearest === undefined ? 'factory explain lists all of them' : `did you mean "${nearest}"?`;
    return { problems: [wrong('usage', `there is no attribute, node type or code "${word}"`, fix)] };
  }
  io.out(options.json === true ? asJson({ meanings: found }) : found.map(meaningText).join('\n'));
  return 0;
}

const asJson = (value: object): string => `${JSON.stringify({ schema_version: 1, ...value }, null, 2)}\n`;

function wordList(all: readonly NodeKind[]): string {
  const groups = [
    ...attributeReference(all).map(
      ({ on, entries }) => [`attributes of ${on}`, entries.map(({ name }) => name)] as const,
    ),
    ['node types', all.map(({ type }) => type)] as const,
    ['codes of factory validate', lintCodes(all).map(({ code }) => code)] as const,
    ['codes of factory plan check', findingCodes] as const,
  ];
  return groups.map(([title, words]) => `${title}\n${wrapped(words.join(', '), '  ')}`).join('\n');
}

/** Lines of at most 100 columns. */
function wrapped(text: string, indent: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length + indent.length < 100)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => `${indent}${line}\n`).join('');
}

/** The agent first, then the settings with who says each. */
function nodeText({ node, type, place, classes, settings, agent }: ExplainedNode): string {
  const ofClasses = classes.length === 0 ? '' : `, class ${classes.join(', ')}`;
  const rows = columns(
    settings.map(({ name, value, from, place: at }) => [
      name,
      oneLine(value, 60),
      at === undefined ? from : `${from} (${at})`,
    ]),
  );
  return [
    `${node}: ${type} node${ofClasses} (${place})\n`,
    ...(agent === null ? [] : agentLines(agent)),
    ...rows.map(({ cells, last }) => `  ${[...cells, last].join('  ').trimEnd()}\n`),
  ].join('');
}

function agentLines(agent: NonNullable<ExplainedNode['agent']>): readonly string[] {
  if ('problem' in agent) return [`  agent: none: ${agent.problem}\n`];
  const { describe, by, models, withheld } = agent;
  const own = models.length === 0 ? 'its own default' : models.join(', ');
  const not = withheld.length === 0 ? '' : `, not ${withheld.join(', ')}: it has no models of that provider`;
  const asked = Object.entries(agent.servers ?? {}).map(
    ([provider, { base_url, api, key }]) =>
      `  server: ${provider} at ${base_url}, api ${api}, ${key === undefined ? 'no key' : `key ${key}`}\n`,
  );
  return [`  agent: ${describe}, by ${by}\n`, ...asked, `  model: ${own}${not}\n`];
}

const fields = (rows: readonly (readonly [string, string | undefined])[]): string =>
  rows
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `  ${name.padEnd(10)}${value}\n`)
    .join('');

function meaningText(meaning: Meaning): string {
  switch (meaning.kind) {
    case 'attribute': {
      const { name, on, does, value, synonyms, flag, example } = meaning;
      const rows = [
        ['value', value],
        ['default', meaning.default],
        ['flag', flag],
        ['also read', synonyms.join(', ')],
        ['example', example],
      ] as const;
      return `${name}: attribute of ${on}\n${wrapped(does, '  ')}${fields(rows)}`;
    }
    case 'node type': {
      const { name, does, shapes, attributes, file } = meaning;
      const written = shapes[0] === undefined ? `type=${name}` : `shape=${shapes[0]}`;
      const where = file === undefined ? '' : `  file\n    ${file}\n`;
      return `${name}: ${file === undefined ? '' : 'own '}node type (${written})\n${wrapped(does, '  ')}${where}  attributes\n${wrapped(attributes.join(', '), '    ')}`;
    }
    case 'code':
      return `${meaning.name}: ${meaning.severity} of factory validate\n${wrapped(meaning.rule, '  ')}${fields(
        [
          ['wrong', meaning.wrong],
          ['fix', meaning.fix],
        ],
      )}`;
    case 'plan code':
      return `${meaning.name}: finding of factory plan check${meaning.strict ? ' (with strict rules)' : ''}\n${wrapped(`${meaning.means}.`, '  ')}${fields([['fix', meaning.fix]])}`;
    case 'unused':
      return `${meaning.name}: ${meaning.means}\n`;
    default:
      return unreachable(meaning);
  }
}
