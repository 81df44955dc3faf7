/** `factory doctor`: whether this machine has what runs need, and what it lacks. */
import { checkEnvironment, type EnvironmentFinding } from '../app/doctor.ts';
import { unreachable } from '../core/json.ts';
import { runsDirOf, usage } from './find-run.ts';
import { type CliIo, type Io, paints } from './io.ts';
import { databaseUrlOf } from './options.ts';
import { type Paint, painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type DoctorOptions = {
  readonly runsdir?: string;
  readonly db?: string;
  readonly probe?: boolean;
  readonly provider?: string;
  readonly model?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Exit code 0 where runs work (perhaps with less than they could have), else 1. */
export async function doctorCommand(
  options: DoctorOptions,
  io: Io & Pick<CliIo, 'clock'>,
): Promise<VerbResult> {
  const runsDir = runsDirOf(options, io);
  const { cwd, env } = io;
  const { provider, model } = options;
  const unused = provider !== undefined ? '--provider' : model !== undefined ? '--model' : undefined;
  if (unused !== undefined && options.probe !== true)
    return usage(`${unused} needs --probe`, `factory doctor --probe ${unused} NAME`);
  const asked = {
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
  };
  const probe = options.probe === true ? { probe: { ...asked, clock: io.clock } } : {};
  const found = await checkEnvironment({ cwd, runsDir, env, db: databaseUrlOf(options, io), ...probe });
  const bad = found.filter(({ state }) => state === 'bad');
  const code = bad.length === 0 ? 0 : 1;
  if (options.json === true) {
    io.out(`${JSON.stringify({ schema_version: 1, exit_code: code, findings: found }, null, 2)}\n`);
    return code;
  }
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  for (const finding of found) for (const line of linesOf(finding, paint)) io.out(`${line}\n`);
  const names = [...new Set(bad.map(({ what }) => what))].join(', ');
  io.out(`\n${code === 0 ? 'runs work here' : paint.red(`to be mended: ${names}`)}\n`);
  return code;
}

function linesOf({ what, state, says, more, fix }: EnvironmentFinding, paint: Paint): readonly string[] {
  const below = [...more, ...(fix === undefined || state === 'good' ? [] : [`fix: ${fix}`])];
  return [
    `${mark(state, paint)} ${what.padEnd(9)} ${says}`,
    ...below.map((line) => paint.dim(`${' '.repeat(12)}${line}`)),
  ];
}

function mark(state: EnvironmentFinding['state'], paint: Paint): string {
  switch (state) {
    case 'good':
      return paint.green('✓');
    case 'less':
      return paint.yellow('!');
    case 'bad':
      return paint.red('✗');
    case 'absent':
      return paint.dim('·');
    default:
      return unreachable(state);
  }
}
