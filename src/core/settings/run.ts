/** The settings of a run that a flag may set: those of the graph that have one, and those that only a flag or a variable sets. */
import { agentNames } from '../contracts/agent.ts';
import { fidelities } from '../fidelity.ts';
import { graphAttributes } from './graph.ts';
import { runLimits } from './limits.ts';
import {
  type AttributeSpec,
  type AttributeTable,
  attr,
  label,
  nameForPeople,
  type Settings,
  trimmed,
  word,
} from './types.ts';

const { workdir, prices, agent_script, holdout_from, env_pass, sandbox } = graphAttributes;

export const runSettings = {
  ...runLimits,
  ...{ workdir, prices, agent_script, holdout_from, env_pass, sandbox },
  agent: attr(trimmed('names of agents'), 'The agent of nodes without agent.backend.', {
    flag: '--agent <name>',
    help: `agent to use: ${agentNames.join(', ')}; a comma-separated list is tried in order`,
    variable: 'FACTORY_AGENT',
    http: true,
    title: 'Agent',
    example: 'codex,claude',
  }),
  provider: attr(
    trimmed('the name of a provider'),
    'The provider of the models of nodes without llm_provider.',
    {
      flag: '--provider <name>',
      help: 'provider of the models of nodes without llm_provider, built in or of factory.json: openai, mistral, ollama, …',
      variable: 'FACTORY_PROVIDER',
      http: true,
      title: 'Provider',
      unset: 'that of factory.json, else of the key',
      example: 'openrouter',
    },
  ),
  model: attr(trimmed('the name of a model'), 'The model of nodes without llm_model.', {
    flag: '--model <name>',
    help: 'model for nodes without llm_model',
    variable: 'FACTORY_MODEL',
    http: true,
    title: 'Model',
    example: 'gpt-5.2',
  }),
  effort: attr(trimmed('a word'), 'The reasoning effort of nodes without reasoning_effort.', {
    flag: '--effort <word>',
    help: 'reasoning effort for nodes without one: none, minimal, low, medium, high, xhigh',
    http: true,
    title: 'Reasoning effort',
    variable: 'FACTORY_EFFORT',
    example: 'high',
  }),
  auto_answer: attr(
    trimmed('first, default or the path of a file'),
    'What answers at human gates in place of a person.',
    {
      flag: '--auto-answer <what>',
      help: 'answer human gates without a person: first (option), default (choice), or a JSON file with the answer of each gate',
      unset: 'a person answers',
      example: 'default',
    },
  ),
  fidelity: attr(word(...fidelities), 'The fidelity of agents where neither edge nor node has one.', {
    flag: '--fidelity <word>',
    help: `what agents are given of the run so far, where neither edge nor node says it: ${fidelities.join(', ')}`,
    http: true,
    title: 'What agents know of the run',
    example: 'compact',
  }),
  name: attr(nameForPeople(), 'The name of the run, shown as its title.', {
    flag: '--name <text>',
    help: 'name of the run, shown as its title',
    title: 'Name',
    unset: "the pipeline's label, else the heading of its spec, else the name of its file",
    http: true,
    example: 'nightly build',
  }),
  labels: attr(label(), 'Labels of the run: caps and workers of a queue may be for one.', {
    flag: '--label <word>',
    help: 'label of the run, for caps per label and for workers; repeatable',
    unset: 'none',
    example: 'backend',
  }),
} as const satisfies AttributeTable;

type All = Settings<typeof runSettings>;
export type SettingName = keyof All;

/** The settings that flags set, by their names. */
export type SettingFlags = { readonly [K in SettingName]?: Exclude<All[K], undefined> };

export const settingNames = Object.keys(runSettings) as readonly SettingName[];

/** The flag of a setting, without what it takes. */
export const flagOfSetting = ({ flag = '' }: AttributeSpec): string => flag.replace(/ .*/, '');
