/** The settings of the node where a fork begins, to be edited: prefilled with those of its execution. */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ExecutionView } from '../../../app/inspect/execution-shapes.ts';
import { api, requestMessage } from '../api.ts';
import { nodeNamed } from '../text/address.ts';
import { editedSettings, settingTitle, shownFirst } from '../text/node-settings.ts';

type Edited = Signal<Readonly<Record<string, string>>>;

/** The settings at `point` (`NODE@VISIT`), and what of them has been edited, for the body of the request. */
export function useForkSettings(run: string, point: string) {
  const loaded = useSignal<{ readonly point: string; readonly settings: ExecutionView['settings'] } | null>(
    null,
  );
  const problem = useSignal('');
  const edited: Edited = useSignal({});
  const { id, visit } = nodeNamed(point);
  useEffect(() => {
    edited.value = {};
    problem.value = '';
    if (visit === undefined) return;
    let current = true;
    api.execution(run, id, visit).then(
      ({ settings }) => {
        if (current) loaded.value = { point, settings };
      },
      (error: unknown) => {
        if (current) problem.value = requestMessage(error);
      },
    );
    return () => {
      current = false;
    };
  }, [point]);
  const settings = loaded.value?.point === point ? loaded.value.settings : null;
  const set = settings === null ? undefined : editedSettings(id, settings, edited.value);
  return { node: id, settings, problem: problem.value, edited, set: set === undefined ? {} : { set } };
}

export function ForkSettings({ node, settings, problem, edited }: ReturnType<typeof useForkSettings>) {
  if (problem !== '')
    return (
      <p class="quiet">
        The settings of {node} cannot be read: {problem}
      </p>
    );
  if (settings === null) return <p class="quiet">Reading the settings of {node}…</p>;
  const [main, rest] = shownFirst(settings);
  if (settings.length === 0) return null;
  return (
    <fieldset class="form fork-settings">
      <legend>Settings of {node} in the fork</legend>
      {main.map((one) => (
        <SettingField key={`${node} ${one.name}`} setting={one} edited={edited} />
      ))}
      {rest.length > 0 && (
        <details>
          <summary>Other settings ({rest.length})</summary>
          <div class="form inset">
            {rest.map((one) => (
              <SettingField key={`${node} ${one.name}`} setting={one} edited={edited} />
            ))}
          </div>
        </details>
      )}
    </fieldset>
  );
}

const mostRows = 12;

function SettingField({
  setting: { name, text },
  edited,
}: {
  setting: ExecutionView['settings'][number];
  edited: Edited;
}) {
  const value = edited.value[name] ?? text;
  const isLong = name === 'prompt' || name === 'tool_command';
  return (
    <label class="field">
      <span>
        {settingTitle(name)}
        {value !== text && <span class="quiet"> · changed</span>}
      </span>
      <textarea
        rows={Math.min(mostRows, Math.max(isLong ? 2 : 1, value.split('\n').length))}
        value={value}
        placeholder={text === '' ? 'default' : ''}
        spellcheck={name === 'prompt'}
        onInput={(event) => {
          edited.value = { ...edited.value, [name]: event.currentTarget.value };
        }}
      />
    </label>
  );
}
