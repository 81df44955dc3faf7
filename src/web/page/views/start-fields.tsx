/** Fields of the form for a new run: variables, settings of the table, folded groups. */
import type { ComponentChildren } from 'preact';
import type { OfferedPipeline } from '../../../app/answers.ts';
import type { Estimate } from '../../../app/estimate.ts';
import { earlierText, isBelowMedian, type StartForm, type StartSetting } from '../text/start-form.ts';
import { Field } from './fields.tsx';

type Variable = OfferedPipeline['variables'][number];
export type FormSignal = { value: StartForm };

/** One text of the form as a field has it. */
const entryOf = (form: FormSignal, part: 'vars' | 'texts' | 'settings', name: string) => ({
  get value() {
    return form.value[part][name] ?? '';
  },
  set value(text: string) {
    form.value = { ...form.value, [part]: { ...form.value[part], [name]: text } };
  },
});

export function VariableFields({
  variables,
  form,
  more,
}: {
  variables: readonly Variable[];
  form: FormSignal;
  more: boolean;
}) {
  return (
    <>
      {variables.map((one) =>
        one.file ? (
          <FileField key={one.name} variable={one} form={form} more={more} />
        ) : (
          <Field
            key={one.name}
            name={one.label}
            value={entryOf(form, 'vars', one.name)}
            required={one.required}
            placeholder={defaultText(one)}
            note={one.required ? 'a text, or @FILE for the text of a file' : undefined}
          />
        ),
      )}
    </>
  );
}

const defaultText = ({ default: value }: Variable): string =>
  value === null ? '' : `default: ${value || 'empty'}`;

/** A variable whose value is a file: the name of one, or a text that the server writes to one. */
function FileField({ variable, form, more }: { variable: Variable; form: FormSignal; more: boolean }) {
  const { name, label, required } = variable;
  const isTyped = form.value.typed.includes(name);
  const choose = (typed: boolean) => () => {
    const others = form.value.typed.filter((one) => one !== name);
    form.value = { ...form.value, typed: typed ? [...others, name] : others };
  };
  const text = entryOf(form, 'texts', name);
  return (
    <fieldset class="file-field">
      <legend>{label}</legend>
      <div class="choices">
        {[false, true].map((typed) => (
          <label key={String(typed)}>
            <input type="radio" name={`how-${name}`} checked={isTyped === typed} onChange={choose(typed)} />
            <span>{typed ? 'Text' : 'File'}</span>
          </label>
        ))}
      </div>
      {isTyped ? (
        <label class="field">
          <span class="hidden">{label}, text</span>
          <textarea
            rows={8}
            required
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
          <span class="quiet">is kept as a file of the runs directory, for you only</span>
        </label>
      ) : (
        <Field
          name={<span class="hidden">{label}, file</span>}
          value={entryOf(form, 'vars', name)}
          required={required}
          list="project-files"
          placeholder={defaultText(variable)}
          note={`a file of the project${more ? '; not all are listed, type its path' : ''}`}
        />
      )}
    </fieldset>
  );
}

/** A group of fields that most runs leave unchanged. `set`: how many of them say something. */
export function Fold({ title, set, children }: { title: string; set: number; children: ComponentChildren }) {
  return (
    <details class="fold" open={set > 0}>
      <summary>
        {title} {set > 0 && <span class="quiet">{set} set</span>}
      </summary>
      <div class="form columns">{children}</div>
    </details>
  );
}

/** A field for each setting, as the table describes it. */
export function SettingFields({
  settings,
  form,
  estimate,
}: {
  settings: readonly StartSetting[];
  form: FormSignal;
  estimate: Estimate | null;
}) {
  return (
    <>
      {settings.map((one) => (
        <SettingField key={one.name} setting={one} form={form} estimate={estimate} />
      ))}
    </>
  );
}

const lists: Readonly<Record<string, string>> = { agent: 'agents', holdout_from: 'folders' };

function SettingField({
  setting,
  form,
  estimate,
}: {
  setting: StartSetting;
  form: FormSignal;
  estimate: Estimate | null;
}) {
  const { name, title, words, type, unset, does } = setting;
  const value = entryOf(form, 'settings', name);
  const earlier = earlierText(name, estimate);
  const note = (
    <>
      {does}
      {earlier !== '' && (
        <strong class={isBelowMedian(name, value.value, estimate) ? 'earlier tone-warn' : 'earlier'}>
          {earlier}
        </strong>
      )}
    </>
  );
  if (words === null)
    return (
      <Field
        name={title}
        value={value}
        type={type === 'string' ? 'text' : 'number'}
        placeholder={unset === '' ? '' : `default: ${unset}`}
        note={note}
        {...(name in lists ? { list: lists[name] ?? '' } : {})}
      />
    );
  return (
    <label class="field">
      <span>{title}</span>
      <select
        value={value.value}
        onChange={(event) => {
          value.value = event.currentTarget.value;
        }}
      >
        <option value="">{unset === '' ? 'default' : `default: ${unset}`}</option>
        {words.map((word) => (
          <option key={word}>{word}</option>
        ))}
      </select>
      <span class="quiet">{note}</span>
    </label>
  );
}
