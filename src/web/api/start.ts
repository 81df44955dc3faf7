/** Starts runs: what a form is made from, a check before the start, and the start itself. */
import { relative } from 'node:path';
import { placeWords } from '../../app/acts.ts';
import { removeGivenTexts, writeGivenTexts } from '../../app/given-texts.ts';
import { keepHoldout, releaseHoldout } from '../../app/named-holdouts.ts';
import { typedCommand } from '../../app/typed-command.ts';
import { quoteWord } from '../../core/policy/words.ts';
import { limitNames } from '../../core/settings/limits.ts';
import { runSettings, type SettingName, settingNames } from '../../core/settings/run.ts';
import type { AttributeSpec } from '../../core/settings/types.ts';
import { newRunId } from '../../run/runs.ts';
import { startArguments } from '../start-arguments.ts';
import type { StartBody, StartSettings } from '../start-contract.ts';
import { startFindings } from '../start-findings.ts';
import { type StartRequest, startRequest } from '../start-request.ts';
import type { Handlers, Web } from '../web.ts';
import { beginRun } from './acts.ts';

export const startApi: Pick<Handlers, 'settings' | 'check' | 'start'> = {
  settings: async () => ({ settings: settingNames.filter(isOffered).map(formSetting) }),
  check: async ({ web, body }) => {
    const request = await startRequest(body, web);
    if (request instanceof Response) return request;
    const names = Object.entries(request.texts).map(([name, { extension }]) => [name, `${name}${extension}`]);
    const argv = [...startArguments(body, Object.fromEntries(names)), ...placeOf(request, web)];
    return { command: shownCommand(request, argv, web), ...(await startFindings(body, request, web)) };
  },
  start: async ({ web, body }) => {
    const request = await startRequest(body, web);
    if (request instanceof Response) return request;
    const { cwd, holdout } = request;
    const id = newRunId(web.clock);
    const argv = await argumentsOf(body, request, id, web);
    await keepHoldout(web.runsDir, holdout, id);
    const answer = await beginRun(web, id, argv, {
      hidden: [`--run-id=${id}`],
      act: { what: 'start', pipeline: body.pipeline, ...(request.isHere ? {} : { project: cwd }) },
      ...{ cwd, notify: body.notify ?? web.notify },
    });
    if (!(answer instanceof Response)) return { ...answer, command: shownCommand(request, argv, web) };
    releaseHoldout(web.runsDir, holdout, id);
    await removeGivenTexts(web.runsDir, id);
    return answer;
  },
};

const placeOf = ({ cwd, isHere }: StartRequest, { runsDir, cwd: here }: Web): readonly string[] =>
  placeWords(runsDir, isHere ? here : cwd);

/** The texts are written. */
async function argumentsOf(
  body: StartBody,
  request: StartRequest,
  id: string,
  web: Web,
): Promise<readonly string[]> {
  const paths = await writeGivenTexts(web.runsDir, id, request.texts);
  const { cwd } = request;
  const shown = Object.entries(paths).map(([name, path]) => {
    const inside = relative(cwd, path);
    return [name, inside.startsWith('..') ? path : inside];
  });
  return [...startArguments(body, Object.fromEntries(shown)), ...placeOf(request, web)];
}

const shownCommand = ({ cwd, isHere }: StartRequest, argv: readonly string[], { called }: Web): string => {
  const command = typedCommand(called?.program ?? 'factory', argv);
  return isHere ? command : `cd ${quoteWord(cwd)} && ${command}`;
};

const isOffered = (name: SettingName): boolean => 'http' in runSettings[name];

function formSetting(name: SettingName): StartSettings['settings'][number] {
  const spec: AttributeSpec = runSettings[name];
  const { wants, words, json, example, variable, help = spec.does } = spec;
  const inherited = [variable ?? '', spec.default ?? spec.unset ?? ''];
  return {
    ...{ name, title: spec.title ?? name, limit: limitNames.some((one) => one === name), wants, example },
    does: help.replace(/ \(default: [^)]*\)$/, ''),
    words: words === undefined ? null : [...words],
    type: json ?? 'string',
    unset: inherited.filter(Boolean).join(', else '),
  };
}
