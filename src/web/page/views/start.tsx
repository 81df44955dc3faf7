/** The form that starts a run: project, pipeline and what it needs first, the rest folded. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { OfferedPipeline, PipelineList } from '../../../app/answers.ts';
import type { Estimate } from '../../../app/estimate.ts';
import type { FolderFiles } from '../../contract.ts';
import type { FolderList, StartSettings } from '../../start-contract.ts';
import { api, requestMessage } from '../api.ts';
import { go } from '../place.ts';
import { server } from '../store.ts';
import type { Address } from '../text/address.ts';
import { emptyForm, formVariables, limitOrder, startBodyOf, workdirText } from '../text/start-form.ts';
import { mainJob } from './empty.tsx';
import { Field, TickBox } from './fields.tsx';
import { Command } from './parts.tsx';
import { isRefused, StartAside, useCheck } from './start-check.tsx';
import { Fold, type FormSignal, SettingFields, VariableFields } from './start-fields.tsx';

type Offer = StartSettings & FolderList & { readonly home: string };
/** What a project offers. */
type Project = PipelineList & { readonly files: FolderFiles; readonly problem: string };

export function Start() {
  const offer = useSignal<Offer | null>(null);
  const problem = useSignal('');
  useEffect(() => {
    document.title = 'New run · factory';
    Promise.all([api.settings(), api.folders(), api.server()]).then(
      ([{ settings }, folders, { folder, roots }]) => {
        const home = folders.folders.includes(folder) ? folder : (roots[0] ?? folder);
        offer.value = { settings, ...folders, home };
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
  return <StartPage offer={offer.value} />;
}

function StartPage({ offer }: { offer: Offer }) {
  const asked = new URLSearchParams(location.search);
  const form = useSignal(emptyForm(asked.get('project') ?? offer.home));
  const chosen = useSignal(asked.get('pipeline') ?? '');
  const project = useProject(form.value.project);
  const known = project?.pipelines ?? [];
  const pipeline =
    known.find(({ name }) => name === chosen.value) ??
    known.find(({ source, valid }) => valid && source === 'folder') ??
    known.find(({ name }) => name === mainJob) ??
    known[0];
  return (
    <div class="start">
      <h1>New run</h1>
      <datalist id="folders">
        {offer.folders.map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      <datalist id="agents">
        {server.value?.agents.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <datalist id="project-files">
        {project?.files.files.map(({ path }) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      {project !== null && pipeline !== undefined && project.problem === '' ? (
        <PipelineForm
          key={pipeline.name}
          {...{ form, offer, pipeline, project }}
          choice={<Choice {...{ form, offer, project, chosen, pipeline }} />}
        />
      ) : (
        <div class="form">
          <ProjectField form={form} offer={offer} />
          {project === null && <p class="quiet">Reading the pipelines…</p>}
          <p role="alert" class="tone-bad">
            {project?.problem}
          </p>
        </div>
      )}
    </div>
  );
}

/** What the project offers; the last one while another is read. */
function useProject(path: string): Project | null {
  const project = useSignal<Project | null>(null);
  useEffect(() => {
    let isLate = false;
    const note = (read: Project) => {
      if (!isLate) project.value = read;
    };
    Promise.all([api.pipelines(path), api.files(path)]).then(
      ([list, files]) => note({ ...list, files, problem: '' }),
      (error: unknown) =>
        note({
          ...{ schema_version: 1, pipelines: [], files: { files: [], more: false } },
          problem: requestMessage(error),
        }),
    );
    return () => {
      isLate = true;
    };
  }, [path]);
  return project.value;
}

/** A path is taken when it is whole: on a choice of the list, Enter, or when the field is left. */
function ProjectField({ form, offer }: { form: FormSignal; offer: Offer }) {
  if (offer.folders.length < 2) return null;
  return (
    <label class="field">
      <span>Project</span>
      <input
        type="text"
        list="folders"
        required
        value={form.value.project}
        onChange={(event) => {
          form.value = { ...form.value, project: event.currentTarget.value.trim() || offer.home };
        }}
      />
      <span class="quiet">
        Pipelines and files are those of this folder
        {offer.more && '; not all folders are listed, type a path'}
      </span>
    </label>
  );
}

function Choice({
  form,
  offer,
  project,
  chosen,
  pipeline,
}: {
  form: FormSignal;
  offer: Offer;
  project: Project;
  chosen: { value: string };
  pipeline: OfferedPipeline;
}) {
  return (
    <>
      <ProjectField form={form} offer={offer} />
      <label class="field">
        <span>Pipeline</span>
        <select
          value={pipeline.name}
          onChange={(event) => {
            chosen.value = event.currentTarget.value;
          }}
        >
          {(['folder', 'bundled'] as const).map((source) => (
            <optgroup key={source} label={source === 'folder' ? 'In this folder' : 'Bundled'}>
              {project.pipelines
                .filter((one) => one.from === source)
                .map(({ name, label }) => (
                  <option key={name} value={name}>
                    {label === '' || label === name ? name : `${name}: ${label}`}
                  </option>
                ))}
            </optgroup>
          ))}
        </select>
      </label>
      <BuildsOn form={form} pipeline={pipeline} />
    </>
  );
}

/** What the run begins with; a pipeline that names another folder can build on the project too. */
function BuildsOn({ form, pipeline: { workdir, valid } }: { form: FormSignal; pipeline: OfferedPipeline }) {
  const { project } = form.value;
  if (!valid) return null;
  if (workdir === project) return <p class="quiet">The run works on {workdirText(workdir)}.</p>;
  const value = {
    get value() {
      return form.value.onProject;
    },
    set value(onProject: boolean) {
      form.value = { ...form.value, onProject };
    },
  };
  return <TickBox name={`Work on a copy of ${project} (else on ${workdirText(workdir)})`} value={value} />;
}

function PipelineForm({
  form,
  offer,
  pipeline,
  project,
  choice,
}: {
  form: FormSignal;
  offer: Offer;
  pipeline: OfferedPipeline;
  project: Project;
  choice: ComponentChildren;
}) {
  const estimate = useEstimate(pipeline.name, form.value.project);
  const body = startBodyOf(form.value, pipeline, offer.settings, offer.home);
  const checked = useCheck(body);
  const { busy, problem, submit } = useStart(body);
  const isBad = checked.of === JSON.stringify(body) && isRefused(checked);
  const { first, rest } = formVariables(pipeline.variables);
  return (
    <div class="start-columns">
      <form class="form" onSubmit={submit}>
        {choice}
        {!pipeline.valid && (
          <p class="tone-bad">
            This pipeline has errors and cannot be started.{' '}
            <Command text={`factory validate ${pipeline.name}`} />
          </p>
        )}
        <VariableFields variables={first} form={form} more={project.files.more} />
        {rest.length > 0 && (
          <Fold
            title="Other variables"
            set={rest.filter(({ name }) => body.vars?.[name] !== undefined).length}
          >
            <VariableFields variables={rest} form={form} more={project.files.more} />
          </Fold>
        )}
        <Groups {...{ form, offer, estimate }} />
        <p role="alert" class="tone-bad">
          {problem}
        </p>
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy || !pipeline.valid || isBad}>
            {busy ? 'Starting…' : 'Start'}
          </button>
          <button type="submit" value="queue" disabled={busy || !pipeline.valid || isBad}>
            Queue it
          </button>
          <span class="quiet">A worker starts what is queued when it has a free slot.</span>
        </p>
      </form>
      <StartAside checked={checked} estimate={estimate} />
    </div>
  );
}

function useEstimate(pipeline: string, project: string): Estimate | null {
  const estimate = useSignal<Estimate | null>(null);
  useEffect(() => {
    let isLate = false;
    api.estimate(pipeline, project).then(
      (read) => {
        if (!isLate) estimate.value = read;
      },
      // The form starts runs without it.
      () => undefined,
    );
    return () => {
      isLate = true;
    };
  }, [pipeline, project]);
  return estimate.value;
}

function useStart(body: ReturnType<typeof startBodyOf>) {
  const busy = useSignal(false);
  const problem = useSignal('');
  const start = async (): Promise<Address> => {
    const { run_id } = await api.start(body);
    return { view: 'run', run: run_id, tab: 'graph' };
  };
  const enqueue = async (): Promise<Address> => {
    // What is queued waits with its worker.
    const { wait: _, ...job } = body;
    await api.submit(job);
    return { view: 'queue' };
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    busy.value = true;
    problem.value = '';
    try {
      go(await (event.submitter?.getAttribute('value') === 'queue' ? enqueue() : start()));
    } catch (error) {
      problem.value = requestMessage(error);
    }
    busy.value = false;
  };
  return { busy: busy.value, problem: problem.value, submit };
}

/** What most runs leave unchanged. */
function Groups({ form, offer, estimate }: { form: FormSignal; offer: Offer; estimate: Estimate | null }) {
  const { settings } = offer;
  const bounds = ['holdout_from', 'sandbox'];
  const groups = {
    agent: settings.filter(({ name, limit }) => !limit && !bounds.includes(name)),
    bound: settings.filter(({ name }) => bounds.includes(name)),
    limits: settings.filter(({ limit }) => limit).sort(limitOrder),
  };
  const { value } = form;
  const setIn = (some: typeof settings) =>
    some.filter(({ name }) => (value.settings[name] ?? '').trim() !== '').length;
  const flag = (name: 'wait' | 'allowDirty') => ({
    value: {
      get value() {
        return form.value[name];
      },
      set value(is: boolean) {
        form.value = { ...form.value, [name]: is };
      },
    },
  });
  return (
    <>
      <Fold title="Agent and model" set={setIn(groups.agent)}>
        <SettingFields settings={groups.agent} form={form} estimate={estimate} />
      </Fold>
      <Fold title="Holdout and sandbox" set={setIn(groups.bound) + Number(value.allowDirty)}>
        <SettingFields settings={groups.bound} form={form} estimate={estimate} />
        <TickBox name="Commit uncommitted changes of the project in the run first" {...flag('allowDirty')} />
      </Fold>
      <Fold title="Waiting and notices" set={Number(value.wait) + Number(value.notify.trim() !== '')}>
        <TickBox name="Wait while it is suspended, then resume it" {...flag('wait')} />
        <Field
          name="Send notices to"
          value={{
            get value() {
              return form.value.notify;
            },
            set value(notify: string) {
              form.value = { ...form.value, notify };
            },
          }}
          placeholder="https://example.org/hook"
          note="an address that gets a JSON notice when the run ends, is suspended or asks"
        />
      </Fold>
      <Fold title="Limits" set={setIn(groups.limits)}>
        <SettingFields settings={groups.limits} form={form} estimate={estimate} />
      </Fold>
    </>
  );
}
