/** Which settings of a run exist over HTTP: those whose table offers it, and no others. */
import { expect, test } from 'vitest';
import { limitNames } from '../../src/core/settings/limits.ts';
import { flagOfSetting, runSettings, type SettingName, settingNames } from '../../src/core/settings/run.ts';
import type { AttributeSpec } from '../../src/core/settings/types.ts';
import { resumeBodySchema } from '../../src/web/contract.ts';
import { startArguments } from '../../src/web/start-arguments.ts';
import { startBodySchema } from '../../src/web/start-contract.ts';

const isLimit = (name: SettingName): boolean => limitNames.some((limit) => limit === name);
const exampleOf = ({ json, example }: AttributeSpec) => (json === undefined ? example : Number(example));
/** Whether a start accepts a setting. */
const starts = (name: SettingName, value: unknown = exampleOf(runSettings[name])): boolean => {
  const settings = isLimit(name) ? { limits: { [name]: value } } : { [name]: value };
  return startBodySchema().safeParse({ pipeline: 'p', ...settings }).success;
};

test('only the settings whose table offers them can be set over HTTP, each by its flag and with a title', () => {
  const offered = settingNames.filter((name) => starts(name));
  expect(offered).toEqual(settingNames.filter((name) => 'http' in runSettings[name]));
  for (const name of offered) {
    const { title }: AttributeSpec = runSettings[name];
    expect(title, name).toMatch(/^[A-Z]/);
    const value = exampleOf(runSettings[name]);
    const settings = isLimit(name) ? { limits: { [name]: value } } : { [name]: value };
    const argv = startArguments(startBodySchema().parse({ pipeline: 'p', ...settings }));
    expect(argv).toEqual(['run', 'p', `${flagOfSetting(runSettings[name])}=${value}`]);
  }
  const limits = offered.filter(isLimit);
  for (const name of limits)
    expect(resumeBodySchema().safeParse({ limits: { [name]: exampleOf(runSettings[name]) } }).success).toBe(
      true,
    );
});

test('what runs or shows something of this machine cannot be set over HTTP', () => {
  const never = ['agent_script', 'env_pass', 'prices', 'workdir', 'auto_answer', 'labels'] as const;
  for (const name of never) expect('http' in runSettings[name]).toBe(false);
  for (const notify of ['rm -rf /', 'file:///etc/passwd', 'https://ada:secret@example.org/'])
    expect(startBodySchema().safeParse({ pipeline: 'p', notify }).success).toBe(false);
  for (const flag of ['env-pass', 'script', 'prices', 'workdir', 'runsdir', 'auto-answer'])
    for (const name of [flag, flag.replace('-', '_')]) {
      expect(startBodySchema().safeParse({ pipeline: 'p', [name]: 'x' }).success).toBe(false);
      expect(startBodySchema().safeParse({ pipeline: 'p', limits: { [name]: 'x' } }).success).toBe(false);
      expect(resumeBodySchema().safeParse({ [name]: 'x' }).success).toBe(false);
    }
});

test.for<[SettingName, unknown]>([
  ['max_steps', 0],
  ['max_steps', 1.5],
  ['max_tokens', -1],
  ['max_cost_usd', '5'],
  ['max_cost_usd', Number.POSITIVE_INFINITY],
  ['max_wall', 'soon'],
  ['max_wall', '-1h'],
  ['max_wall', 5],
  ['model', 'a\nb'],
  ['agent', ''],
])('a start over HTTP with %s %j is refused', ([name, value]) => {
  expect(starts(name, value)).toBe(false);
});
