/** The git repository of a scenario. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { put } from '../folders.mjs';

/** Git in one folder, without user configuration. */
export function gitIn(cwd, home) {
  const who = { NAME: 'Case', EMAIL: 'case@example.test' };
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    GIT_CONFIG_NOSYSTEM: '1',
  };
  for (const role of ['AUTHOR', 'COMMITTER'])
    for (const [key, value] of Object.entries(who)) env[`GIT_${role}_${key}`] = value;
  return (...words) =>
    execFileSync('git', words, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd();
}

/** Creates the repository of the scenario; returns the folder of its remote, if it has one. */
export function makeRepository(described, { repo, root, git }) {
  git('init', '-q', '-b', described.branch);
  git('config', 'core.autocrlf', 'false');
  for (const { message, files } of described.commits) {
    put(repo, files);
    git('add', '-A', '-f');
    git('commit', '-q', '--allow-empty', '-m', message);
  }
  for (const [branch, { message, files }] of Object.entries(described.extraBranches ?? {})) {
    git('checkout', '-q', '-b', branch);
    put(repo, files);
    git('add', '-A', '-f');
    git('commit', '-q', '--allow-empty', '-m', message);
    git('checkout', '-q', described.branch);
  }
  if (described.identity === true) {
    git('config', 'user.name', 'Seed Owner');
    git('config', 'user.email', 'owner@example.test');
  }
  for (const [hook, script] of Object.entries(described.hooks ?? {})) {
    mkdirSync(join(repo, '.git/hooks'), { recursive: true });
    writeFileSync(join(repo, '.git/hooks', hook), script, { mode: 0o755 });
  }
  if (described.remote !== 'bare') return undefined;
  const remote = join(root, 'remote.git');
  git('init', '-q', '--bare', remote);
  git('remote', 'add', 'origin', remote);
  return remote;
}

/** Prepares a step before its command. */
export function prepare(wanted, { repo, work, outdir, root, git }) {
  put(repo, wanted.repo);
  put(outdir, wanted.outdir);
  put(work, wanted.work);
  if (wanted.gitInit) {
    mkdirSync(repo, { recursive: true });
    git('init', '-q');
  }
  if (wanted.stage) git('add', '-A');
  if (wanted.detach) git('checkout', '-q', '--detach');
  if (wanted.breakRemote) git('remote', 'set-url', 'origin', join(root, 'nowhere.git'));
}

/** The current state of a repository; all empty if there is none. */
export function stateOf(git) {
  const ask = (...words) => {
    try {
      return git(...words);
    } catch {
      return undefined;
    }
  };
  const refs = ask('for-each-ref', '--format=%(refname:short) %(objectname)', 'refs/heads') ?? '';
  return {
    head: ask('rev-parse', '--verify', '-q', 'HEAD'),
    branch: ask('symbolic-ref', '--short', '-q', 'HEAD') ?? null,
    tips: Object.fromEntries(
      refs
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split(' ')),
    ),
  };
}
