/** The form that starts a run: made from the variables of the chosen pipeline. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { PipelineList } from '../../../app/answers.ts';
import type { RunRow } from '../../../app/inspect/shapes.ts';
import { typedCommand } from '../../../app/typed-command.ts';
import { costWords } from '../../../core/amounts.ts';
import { startArguments } from '../../command-line.ts';
import type { FolderFiles, StartBody } from '../../contract.ts';
import { api, requestMessage } from '../api.ts';
import { go } from '../place.ts';
import { server } from '../store.ts';
import type { Address } from '../text/address.ts';
import { durationText, tokensText } from '../text/format.ts';
import { Field } from './dialogs.tsx';
import { Command } from './parts.tsx';

type Pipeline = PipelineList['pipelines'][number];
type Variable = Pipeline['variables'][number];

interface Offer {
  readonly pipelines: readonly Pipeline[];
  readonly files: FolderFiles;
  readonly runs: readonly RunRow[];
}

export function Start() {
  const offer = useSignal<Offer | null>(null);
  const problem = useSignal('');
  useEffect(() => {
    document.title = 'New run · factory';
    Promise.all([api.pipelines(), api.files(), api.runs({ limit: '1000' })]).then(
      ([{ pipelines }, files, { runs }]) => {
        offer.value = { pipelines, files, runs };
      },
      (error: unknown) => {
        problem.value = requestMessage(error);
      },
    );
  }, []);
  if (server.value?.read_only === true)
    return <p class="loading">This server is read-only: it starts no runs. Use factory run.</p>;
  if (problem.value !== '') return <p class="loading">{problem.value}</p>;
  if (offer.value === null) return <p class="loading">Reading the pipelines…</p>;
  return <StartForm offer={offer.value} />;
}

function StartForm({ offer }: { offer: Offer }) {
  const chosen = useSignal(
    new URLSearchParams(location.search).get('pipeline') ??
      offer.pipelines.find(({ valid }) => valid)?.name ??
      '',
  );
  const pipeline = offer.pipelines.find(({ name }) => name === chosen.value);
  return (
    <div class="start">
      <h1>New run</h1>
      <label class="field">
        <span>Pipeline</span>
        <select
          value={chosen.value}
          onChange={(event) => {
            chosen.value = event.currentTarget.value;
          }}
        >
          {(['folder', 'bundled'] as const).map((source) => (
            <optgroup key={source} label={source === 'folder' ? 'In this folder' : 'Bundled'}>
              {offer.pipelines
                .filter((one) => one.source === source)
                .map((one) => (
                  <option key={one.name} value={one.name}>
                    {one.label === '' || one.label === one.name ? one.name : `${one.name}: ${one.label}`}
                  </option>
                ))}
            </optgroup>
          ))}
        </select>
      </label>
      {pipeline !== undefined && <PipelineForm key={pipeline.name} pipeline={pipeline} offer={offer} />}
    </div>
  );
}

const emptyLimits = { max_cost_usd: '', max_tokens: '', max_wall: '' };

function PipelineForm({ pipeline, offer }: { pipeline: Pipeline; offer: Offer }) {
  const values = useSignal<Readonly<Record<string, string>>>({});
  const agent = useSignal('');
  const model = useSignal('');
  const limits = useSignal(emptyLimits);
  const problem = useSignal('');
  const busy = useSignal(false);
  const body = bodyOf(pipeline, values.value, agent.value, model.value, limits.value);
  const send = async (request: () => Promise<Address>) => {
    busy.value = true;
    problem.value = '';
    try {
      go(await request());
    } catch (error) {
      problem.value = requestMessage(error);
    }
    busy.value = false;
  };
  const start = async (): Promise<Address> => {
    const { run_id } = await api.start(body);
    return { view: 'run', run: run_id, tab: 'graph' };
  };
  const enqueue = async (): Promise<Address> => {
    await api.submit(body);
    return { view: 'queue' };
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void send(event.submitter?.getAttribute('value') === 'queue' ? enqueue : start);
  };
  const last = offer.runs.find((run) => sameName(run.pipeline, pipeline.name) && run.status === 'completed');
  const variables = [...pipeline.variables].sort((a, b) => Number(b.required) - Number(a.required));
  return (
    <form class="form" onSubmit={submit}>
      <datalist id="folder-files">
        {offer.files.files.map(({ path }) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      {!pipeline.valid && (
        <p class="tone-bad">
          This pipeline has errors and cannot be started.{' '}
          <Command text={`factory validate ${pipeline.name}`} />
        </p>
      )}
      {variables.length > 0 && (
        <fieldset class="form">
          <legend>Variables</legend>
          {variables.map((one) => (
            <VariableField key={one.name} variable={one} values={values} more={offer.files.more} />
          ))}
        </fieldset>
      )}
      <fieldset class="form columns">
        <legend>Agent</legend>
        <label class="field">
          <span>Agent</span>
          <select
            value={agent.value}
            onChange={(event) => {
              agent.value = event.currentTarget.value;
            }}
          >
            <option value="">default of the pipeline or the environment</option>
            {server.value?.agents.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <Field name="Model" value={model} placeholder="default" />
      </fieldset>
      <Limits limits={limits} last={last} />
      <p class="quiet">This command does the same:</p>
      <Command text={typedCommand('factory', startArguments(body))} />
      <p role="alert" class="tone-bad">
        {problem.value}
      </p>
      <p class="buttons">
        <button type="submit" class="primary" disabled={busy.value || !pipeline.valid}>
          {busy.value ? 'Starting…' : 'Start'}
        </button>
        <button type="submit" value="queue" disabled={busy.value || !pipeline.valid}>
          Queue it
        </button>
        <span class="quiet">A worker starts what is queued when it has a free slot.</span>
      </p>
    </form>
  );
}

/** Whether the path of a run's pipeline is that of a name of the list. */
const sameName = (path: string, name: string): boolean =>
  path === name ||
  path
    .split('/')
    .at(-1)
    ?.replace(/\.dot$/, '') ===
    name
      .split('/')
      .at(-1)
      ?.replace(/\.dot$/, '');

function VariableField({
  variable,
  values,
  more,
}: {
  variable: Variable;
  values: { value: Readonly<Record<string, string>> };
  more: boolean;
}) {
  const field = {
    get value() {
      return values.value[variable.name] ?? '';
    },
    set value(text: string) {
      values.value = { ...values.value, [variable.name]: text };
    },
  };
  const note = variable.file
    ? `a file of the folder${more ? '; not all are listed, type its path' : ''}`
    : variable.required
      ? 'required'
      : '';
  return (
    <Field
      name={variable.label}
      value={field}
      required={variable.required}
      {...(variable.file ? { list: 'folder-files' } : {})}
      placeholder={variable.default === null ? '' : `default: ${variable.default || 'empty'}`}
      note={note}
    />
  );
}

function Limits({ limits, last }: { limits: { value: typeof emptyLimits }; last: RunRow | undefined }) {
  const field = (name: keyof typeof emptyLimits) => ({
    get value() {
      return limits.value[name];
    },
    set value(text: string) {
      limits.value = { ...limits.value, [name]: text };
    },
  });
  const note = (figure: string) => (last === undefined ? undefined : `last run: ${figure}`);
  const tokens = (last?.spent.input_tokens ?? 0) + (last?.spent.output_tokens ?? 0);
  return (
    <fieldset class="form columns">
      <legend>Limits</legend>
      <Field
        name="Cost, USD"
        type="number"
        value={field('max_cost_usd')}
        placeholder="none"
        note={note(last === undefined ? '' : costWords(last.spent))}
      />
      <Field
        name="Tokens"
        type="number"
        value={field('max_tokens')}
        placeholder="none"
        note={note(tokensText(tokens))}
      />
      <Field
        name="Time, such as 2h"
        value={field('max_wall')}
        placeholder="none"
        note={note(durationText(last?.elapsed_ms ?? 0))}
      />
    </fieldset>
  );
}

function bodyOf(
  pipeline: Pipeline,
  values: Readonly<Record<string, string>>,
  agent: string,
  model: string,
  limits: typeof emptyLimits,
): StartBody {
  const vars = Object.fromEntries(
    pipeline.variables.flatMap(({ name }) => {
      const value = values[name] ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
  return {
    pipeline: pipeline.name,
    vars,
    ...(agent === '' ? {} : { agent }),
    ...(model.trim() === '' ? {} : { model: model.trim() }),
    limits: {
      ...(limits.max_cost_usd === '' ? {} : { max_cost_usd: Number(limits.max_cost_usd) }),
      ...(limits.max_tokens === '' ? {} : { max_tokens: Math.round(Number(limits.max_tokens)) }),
      ...(limits.max_wall.trim() === '' ? {} : { max_wall: limits.max_wall.trim() }),
    },
  };
}
