/** Fields of forms. */
import type { ComponentChildren } from 'preact';

/** One of several, to choose. */
export function RadioChoice({ name, chosen, choose }: { name: string; chosen: boolean; choose: () => void }) {
  return (
    <label>
      <input type="radio" checked={chosen} onChange={choose} /> {name}
    </label>
  );
}

/** A box to tick. */
export function TickBox({ name, value }: { name: string; value: { value: boolean } }) {
  return (
    <label>
      <input
        type="checkbox"
        checked={value.value}
        onChange={(event) => {
          value.value = event.currentTarget.checked;
        }}
      />{' '}
      {name}
    </label>
  );
}

/** A line of text or a number, with its name above and a note below. */
export function Field({
  name,
  value,
  required = false,
  list,
  note,
  type = 'text',
  placeholder = '',
}: {
  name: ComponentChildren;
  value: { value: string };
  required?: boolean;
  list?: string;
  note?: ComponentChildren;
  type?: 'text' | 'number';
  placeholder?: string;
}) {
  return (
    <label class="field">
      <span>{name}</span>
      <input
        type={type}
        required={required}
        list={list}
        placeholder={placeholder}
        value={value.value}
        step="any"
        min={type === 'number' ? 0 : undefined}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
      {note !== undefined && <span class="quiet">{note}</span>}
    </label>
  );
}
