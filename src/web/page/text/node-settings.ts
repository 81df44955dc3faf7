/** What people have edited of the settings of a node. Pure. */
import type { ExecutionView } from '../../../app/inspect/execution-shapes.ts';

type Settings = ExecutionView['settings'];

/** Those that are shown at once; the rest is folded. */
const first: readonly string[] = ['prompt', 'tool_command', 'llm_model'];

export const shownFirst = (settings: Settings): readonly [main: Settings, rest: Settings] => [
  settings.filter(({ name }) => first.includes(name)),
  settings.filter(({ name }) => !first.includes(name)),
];

/** The edited texts that are not those of the run, by `NODE.ATTRIBUTE`; undefined where nothing was edited. */
export function editedSettings(
  node: string,
  settings: Settings,
  edited: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | undefined {
  const found = settings.flatMap(({ name, text }) => {
    const now = edited[name] ?? text;
    return now === text ? [] : [[`${node}.${name}`, now] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** What a field is called. */
export const settingTitle = (name: string): string =>
  ({ prompt: 'Prompt', tool_command: 'Command', llm_model: 'Model' })[name] ?? name;
