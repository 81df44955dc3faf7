/** Notes to the next agent of a run: those that were given, and a form for another one. */
import { useSignal } from '@preact/signals';
import type { NoteRow, RunView } from '../../../app/inspect/shapes.ts';
import { giverWords } from '../../../core/question-words.ts';
import { api, requestMessage } from '../api.ts';
import { userName } from '../settings.ts';
import { server } from '../store.ts';
import { GiverName } from './question.tsx';

/** Folded while there is no note: most runs have none. */
export function SteerPanel({ run }: { run: RunView }) {
  const { notes } = run;
  const gives = run.acts.includes('steer') && server.value?.read_only === false;
  if (notes.length === 0 && !gives) return null;
  return (
    <details key={run.run_id} class="question" open={notes.length > 0}>
      <summary>Notes to agents</summary>
      <ul>
        {notes.map((note) => (
          <Note key={note.note} note={note} />
        ))}
      </ul>
      {gives && <SteerForm run={run} />}
    </details>
  );
}

function Note({ note }: { note: NoteRow }) {
  const { text, branch, used_by } = note;
  return (
    <li>
      {text}{' '}
      <span class="quiet">
        {giverWords(note)}
        {branch !== null && `, branch ${branch}`}
        {used_by === null ? ', waits for the next agent' : `, used by ${used_by}`}
      </span>
    </li>
  );
}

function SteerForm({ run }: { run: RunView }) {
  const text = useSignal('');
  const branch = useSignal('');
  const result = useSignal({ text: '', bad: false });
  const branches = run.branches.filter(({ ended_at }) => ended_at === null);
  const send = async () => {
    const by = userName.value.trim();
    try {
      const { note } = await api.steer(run.run_id, {
        text: text.value,
        ...(branch.value === '' ? {} : { branch: branch.value }),
        ...(by === '' ? {} : { by }),
      });
      text.value = '';
      result.value = { text: `Note ${note.note} waits for the next agent.`, bad: false };
    } catch (error) {
      result.value = { text: requestMessage(error), bad: true };
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label class="field">
        <span>Note to the next agent</span>
        <textarea
          rows={2}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      </label>
      {branches.length > 0 && (
        <label class="field">
          <span>Branch</span>
          <select
            value={branch.value}
            onChange={(event) => {
              branch.value = event.currentTarget.value;
            }}
          >
            <option value="">any</option>
            {branches.map(({ id }) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        </label>
      )}
      {/* A question above has the field already. */}
      {run.questions.every(({ answer }) => answer !== null) && <GiverName />}
      <p class="buttons">
        <button type="submit" class="button" disabled={text.value.trim() === ''}>
          Give the note
        </button>
      </p>
      <p role={result.value.bad ? 'alert' : 'status'} class={result.value.bad ? 'tone-bad' : ''}>
        {result.value.text}
      </p>
    </form>
  );
}
