/** What is wrong with a start before it is tried: the findings of the pipeline, and what would refuse the run. */

import { requiredVariable } from '../app/inputs.ts';
import { checkStart, dirsProblem } from '../app/run/index.ts';
import { type Diagnostic, hasErrors } from '../core/diagnostic.ts';
import { runSettings, type SettingName } from '../core/settings/run.ts';
import type { AttributeSpec } from '../core/settings/types.ts';
import { variablesOf } from '../core/variables.ts';
import { settingsOf, type TypedFlag, type TypedFlags } from '../keeper/passed-flags.ts';
import { givesVariable, settingsGiven } from './start-arguments.ts';
import type { CheckReport, StartBody } from './start-contract.ts';
import type { StartRequest } from './start-request.ts';
import type { Web } from './web.ts';

export async function startFindings(
  body: StartBody,
  request: StartRequest,
  web: Pick<Web, 'runsDir' | 'env' | 'clock'>,
): Promise<Pick<CheckReport, 'missing' | 'findings'>> {
  const { read } = request;
  const { graph, diagnostics: found } = read;
  const missing = (graph === undefined ? [] : variablesOf(graph))
    .filter(({ name, value }) => value === undefined && !givesVariable(body, name))
    .map(({ name }) => name);
  const more = hasErrors(found) || graph === undefined ? [] : await startProblems(body, request, web);
  return { missing, findings: [...found, ...more].map(findingOf) };
}

/** What the start would be refused for. A text has no file yet: the run is checked with the default of its variable. */
async function startProblems(
  body: StartBody,
  { cwd, read: { graph } }: StartRequest,
  { runsDir, env, clock }: Pick<Web, 'runsDir' | 'env' | 'clock'>,
): Promise<readonly Diagnostic[]> {
  if (graph === undefined) return [];
  const { vars, allow_dirty: allowDirty, on_project } = body;
  const settings = settingsOf(startFlags(body));
  const flags = {
    ...settings,
    ...(on_project ? { workdir: cwd } : {}),
    vars,
    allowDirty,
    acceptChanges: false,
  };
  const dirs = dirsProblem(graph, flags, { cwd, runsDir });
  if (dirs !== undefined) return dirs.problems;
  const where = { runsDir, runId: 'check' };
  const problemsOf = async (elsewhere: boolean): Promise<readonly Diagnostic[]> => {
    const start = await checkStart(graph, where, flags, { cwd, env, clock }, { elsewhere });
    return 'problems' in start ? start.problems.filter(({ code }) => code !== requiredVariable) : [];
  };
  const here = await problemsOf(false);
  if (here.length === 0) return here;
  const everywhere = await problemsOf(true);
  // A worker on another machine may have the key that is missing here.
  return everywhere.length > 0 ? everywhere : here.map((one) => ({ ...one, severity: 'warning' as const }));
}

/** The settings of a request as flags that were typed. */
export function startFlags(body: Parameters<typeof settingsGiven>[0]): TypedFlags {
  return Object.fromEntries(settingsGiven(body).map(([name, value]) => [name, typedFlag(name, value)]));
}

/** The value of a flag as if it had been typed; of a repeatable one all values. */
export function typedFlag(name: SettingName, given: string | number | readonly string[]): TypedFlag {
  const typed = typeof given === 'object' ? given : [String(given)];
  const spec: AttributeSpec = runSettings[name];
  const values = typed.map((text) => {
    const read = spec.read({ kind: 'string', text });
    // The schema of the body has read it already.
    return read.ok ? read.value : text;
  });
  return { value: Array.isArray(values[0]) ? values.flat() : values[0], typed };
}

const findingOf = ({
  code,
  severity,
  message,
  fix = '',
  place,
}: Diagnostic): CheckReport['findings'][number] => ({
  ...{ code, severity, message, fix },
  place:
    place === undefined
      ? null
      : { file: place.file, line: place.span.start.line, column: place.span.start.column },
});
