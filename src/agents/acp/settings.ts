/** What a node and the environment say about the agent `acp`: attributes first, then `FACTORY_ACP_*`. */
import type { AgentPlace, AgentTask } from '../../core/contracts/agent.ts';
import type { NodeSettings } from '../../core/settings/node.ts';
import { type AttributeTable, attr, text, word } from '../../core/settings/types.ts';
import { programAttributes } from '../program/attributes.ts';
import type { ResponseFormat } from '../program/free-answer.ts';
import {
  BadSetting,
  commandIn,
  homePlace,
  type ProgramDefaults,
  type ProgramSettings,
  programSettings,
  readSettings,
  type SettingsTask,
  settingsOr,
} from '../program/settings.ts';
import { type AcpPreset, presetOf } from './presets.ts';

export const acpAttributes = {
  'acp.command': attr(
    text(),
    'The program and its arguments, split into words without a shell; `gemini`, `opencode` and `codex-acp` need no arguments.',
    { example: 'gemini --acp' },
  ),
  'acp.permissions': attr(
    word('allow', 'refuse'),
    'The answer to its requests for permission: `allow` allows each one once.',
    { unset: 'allow in the sandbox bubblewrap, else refuse' },
  ),
  'acp.response_format': attr(
    word('auto', 'json', 'text', 'outcome'),
    'How its answer is read, as `command.response_format`; the name `response_format` works too.',
    { unset: 'json' },
  ),
  ...programAttributes('acp', {
    model: 'The model that its session is set to.',
    home: 'login and settings of gemini, opencode and codex-acp',
  }),
} as const satisfies AttributeTable;

export type AcpSettings = ProgramSettings & {
  readonly args: readonly string[];
  readonly preset: AcpPreset | undefined;
  /** Undefined where the sandbox decides. */
  readonly permissions: 'allow' | 'refuse' | undefined;
  readonly responseFormat: ResponseFormat;
  /** Undefined where the preset decides. */
  readonly home: readonly AgentPlace[] | undefined;
  readonly network: boolean;
};

type Task = SettingsTask & Pick<AgentTask, 'expand'>;

/** Everything, or what is wrong and where. Pure. */
export const readAcpSettings = (
  task: Task,
  defaults: ProgramDefaults,
): { readonly settings: AcpSettings } | { readonly problem: string } =>
  settingsOr(() => {
    const { values, from } = readSettings(['acp', acpAttributes, 'FACTORY_ACP'], task, defaults.env);
    if (values.command === undefined)
      throw new BadSetting(
        'acp.command is missing: the agent "acp" needs a program, e.g. acp.command="gemini --acp" on the node (or FACTORY_ACP_COMMAND)',
      );
    const command = from('command');
    const { path, words } = commandIn(values.command, command);
    const preset = presetOf(path);
    const common = programSettings('acp', { values: { ...values, path }, from }, task, defaults);
    if (preset?.needsModel !== undefined && common.model === undefined)
      throw new BadSetting(
        `${path} is asked only with a model, since without one ${preset.needsModel}: set llm_model or acp.model on the node, or pass --model`,
      );
    const ofNode: Partial<NodeSettings> & { readonly response_format?: ResponseFormat } = task.settings;
    const expanded = words.map((word) => expandedIn(word, command, task));
    return {
      ...common,
      preset,
      args: expanded.length === 0 ? (preset?.args ?? []) : expanded,
      permissions: values.permissions,
      responseFormat: values.response_format ?? ofNode.response_format ?? 'json',
      home: values.home?.map((one) => homePlace(one, from('home'), defaults.env)),
      network: task.settings.network !== 'off',
    };
  });

function expandedIn(word: string, from: string, { expand }: Task): string {
  const expanded = expand?.(word) ?? { text: word };
  if ('unknown' in expanded) throw new BadSetting(`${from} names ${expanded.unknown}, which has no value`);
  return expanded.text;
}
