/** The command that was meant by a word that is no verb. */
import { existsSync, statSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { pipelinePath } from '../app/pipelines.ts';
import { nearest } from '../core/nearest.ts';
import { quoteWord } from '../core/policy/words.ts';
import { layout } from '../core/records/layout.ts';
import { verbName, verbs } from './index.ts';

/** Verbs of other tools, with ours. */
const elsewhere: Readonly<Record<string, string>> = {
  ...{ status: 'show', state: 'show', inspect: 'show', describe: 'show', view: 'show', info: 'show' },
  ...{ list: 'runs', ls: 'runs', ps: 'runs', history: 'runs', jobs: 'runs' },
  ...{ log: 'logs', tail: 'logs', events: 'logs', trace: 'logs' },
  ...{ start: 'run', exec: 'run', execute: 'run', launch: 'run', up: 'run', apply: 'run' },
  ...{ cancel: 'stop', kill: 'stop', abort: 'stop', terminate: 'stop', pause: 'stop', down: 'stop' },
  ...{ continue: 'resume', retry: 'resume', rerun: 'fork', restart: 'fork', branch: 'fork', edit: 'fork' },
  ...{ remove: 'rm', delete: 'rm', del: 'rm', clean: 'prune', gc: 'prune', purge: 'prune' },
  ...{ lint: 'validate', check: 'validate', format: 'fmt', new: 'init', create: 'init', scaffold: 'init' },
  ...{ ui: 'serve', web: 'serve', dashboard: 'serve', server: 'serve', open: 'serve', dev: 'serve' },
  ...{ approve: 'answer', reply: 'answer', reject: 'answer', message: 'steer', tell: 'steer', note: 'steer' },
  ...{ enqueue: 'submit', push: 'deliver', merge: 'deliver', publish: 'deliver', ship: 'deliver' },
  ...{ cost: 'show', reason: 'why', debug: 'why', dry: 'simulate', visualize: 'graph', draw: 'graph' },
  ...{ man: 'docs', manual: 'docs', doc: 'docs', setup: 'doctor', env: 'doctor', watch: 'attach' },
};

const holdsRunFiles = (folder: string): boolean => existsSync(layout(folder).journal);

/** The command that was probably meant by `word`, with the words behind it; undefined if nothing comes to mind. */
export function meantCommand(word: string, more: readonly string[], cwd: string): string | undefined {
  const command = (...words: readonly string[]): string =>
    ['factory', ...words.map(quoteWord), ...more.map(quoteWord)].join(' ');
  const path = resolve(cwd, word);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (extname(word) === '.dot' || (!isFile && pipelinePath(word, cwd) !== word)) return command('run', word);
  if (isFile && /^\.(?:md|txt)$/.test(extname(word))) return command('build', word);
  if (holdsRunFiles(path)) return command('show', word);
  if (/^[\w.-]+$/.test(word) && holdsRunFiles(join(cwd, '.factory/runs', word))) return command('show', word);
  const known = (name: string): string | undefined =>
    Object.hasOwn(elsewhere, name) ? elsewhere[name] : undefined;
  const near = nearest(word, [...verbs.map(verbName), ...Object.keys(elsewhere)]) ?? '';
  const verb = known(word.toLowerCase()) ?? known(near) ?? near;
  return verb === '' ? undefined : command(verb);
}

/** The same for the second word of a verb that has several: `queue lst`. */
export function meantStep(verb: string, step: string): string | undefined {
  const group = verbs.find((one) => verbName(one) === verb);
  const near = group && 'verbs' in group ? nearest(step, group.verbs.map(verbName)) : undefined;
  return near === undefined ? undefined : `factory ${verb} ${near}`;
}
