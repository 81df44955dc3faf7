/** How strong the scenarios are that judge the under-built products: measured on the right product of each specification. */
import { spawnSync } from 'node:child_process';
import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Strength } from '../../src/core/records/strength.ts';
import { runBoxed } from './box.ts';

export type SuiteStrength = {
  readonly product: string;
  readonly usual: Strength | undefined;
  readonly strong: Strength | undefined;
};

type SuiteHost = { readonly project: string; readonly program: string; readonly folder: string };

/** A sample of 60 mutants for each suite: ± 12 points. */
export async function suiteStrengths(host: SuiteHost): Promise<SuiteStrength[]> {
  const products = join(host.project, 'test/false-success/products');
  const names = (await readdir(products, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const measured: SuiteStrength[] = [];
  for (const { name } of names) {
    const app = join(host.folder, name, 'app');
    await cp(join(products, name, 'project'), app, { recursive: true });
    for (const words of [
      ['init', '-q'],
      ['add', '-A'],
    ])
      spawnSync('git', words, { cwd: app });
    const [usual, strong] = [await strengthOf('usual'), await strengthOf('strong')];
    measured.push({ product: name, usual, strong });

    async function strengthOf(suite: string): Promise<Strength | undefined> {
      const scenarios = join(host.folder, name, suite);
      await mkdir(scenarios, { recursive: true });
      await cp(join(products, name, suite), scenarios, { recursive: true });
      await cp(join(products, 'lib.sh'), join(scenarios, 'lib.sh'));
      return measuredStrength(scenarios, app, host);
    }
  }
  return measured;
}

async function measuredStrength(
  scenarios: string,
  app: string,
  { program, folder }: SuiteHost,
): Promise<Strength | undefined> {
  const { PATH = '', LANG = 'C.UTF-8' } = process.env;
  const words = ['--app', app, '--sample', '60', '--seed', '1', '--json'];
  const end = await runBoxed({
    command: [program, 'scenario', 'strength', scenarios, ...words],
    ...{ folder, cwd: folder, env: { PATH, LANG, HOME: folder }, seconds: 900, boxed: false, reads: [] },
  });
  const json = end.output.slice(end.output.indexOf('{'), end.output.lastIndexOf('}') + 1);
  return json === '' ? undefined : (JSON.parse(json) as { strength: Strength }).strength;
}
