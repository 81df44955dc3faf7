/** `factory plan`: renders the prompt for a plan, checks the model's answer, writes the work orders. */
import { rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Json, JsonObject } from '../model/json.ts';
import { inWorkspace } from '../model/layout.ts';
import type { FailureClass } from '../model/outcome.ts';
import { sha256 } from '../model/sha256.ts';
import { checkPlan, unreadable } from '../planner/compile.ts';
import { clearPlan, filesOf, readAnswer, readContext, readIfThere, readUserText } from '../planner/desk.ts';
import { emit, fileText, manifestFile } from '../planner/emit.ts';
import { isError, type PlanFinding, toDiagnostic } from '../planner/finding.ts';
import { compileHash } from '../planner/hash.ts';
import { revisionPrompt } from '../planner/revise.ts';
import { type PlanState, readState, unbegun, writeState } from '../planner/state.ts';
import { hasPlaceholder, planPromptText, withDoctrine } from '../planner/template.ts';
import { readDoctrine, readRevisionTemplate } from '../planner/texts.ts';
import { writeFileAtomic, writeJson } from '../system/files.ts';
import { namesIn, readPlain } from '../system/read.ts';

export type PlanIo = {
  /** The workspace, absolute. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Both are given whole lines, line ends included. */
  out(text: string): void;
  err(text: string): void;
  now(): Date;
};

type Shared = { readonly json?: boolean | undefined };
/** `doctrine`: the file with the rules for work orders; default the bundled one. */
type Ruled = Shared & { readonly doctrine?: string | undefined };
export type PlanPromptOptions = Ruled & {
  readonly spec: string;
  readonly template: string;
  readonly repo?: string | undefined;
  readonly model?: string | undefined;
  readonly effort?: string | undefined;
};
export type PlanCheckOptions = Ruled & {
  readonly attempts?: number | string | undefined;
  readonly template?: string | undefined;
  readonly rules?: 'strict' | 'lenient' | undefined;
};
export type PlanEmitOptions = Shared;

const ok = 0;
const findingsFound = 2;
const textOrFlagsWrong = 2;
const unparseable = 4;
const defaultAttempts = 5;

/** Renders the planning prompt into the workspace and begins a plan there; whatever was left of an earlier plan is
 *  cleared away. Returns the exit code: 0, or 2 with nothing written when a file or flag is wrong. */
export async function planPrompt(options: PlanPromptOptions, io: PlanIo): Promise<number> {
  const spec = await readUserText(io.cwd, options.spec, 'spec');
  if ('problem' in spec) return refuse(io, options, spec.problem);
  const template = await readUserText(io.cwd, options.template, 'template');
  if ('problem' in template) return refuse(io, options, template.problem);
  if (!hasPlaceholder(template.text, 'PRODUCT_SPEC')) {
    const problem = `the template ${options.template} has no {{PRODUCT_SPEC}}: put it where the spec belongs`;
    return refuse(io, options, problem);
  }
  const doctrine = await readDoctrine(io.cwd, options.doctrine);
  if ('problem' in doctrine) return refuse(io, options, doctrine.problem);
  const repo = options.repo === undefined ? null : resolve(io.cwd, options.repo);
  const files = await filesOf(repo ?? io.cwd, io.env);
  if ('problem' in files) return refuse(io, options, files.problem);

  const context = await readContext(io.env['FACTORY_CONTEXT']);
  const model = options.model || textOf(context['plan.model']);
  const effort = options.effort || textOf(context['plan.effort']);
  const state: PlanState = {
    ...unbegun(io.now()),
    spec: { path: options.spec, sha256: sha256(spec.bytes) },
    template: { path: options.template, sha256: sha256(template.bytes) },
    model,
    effort,
    compile_hash: compileHash({
      spec: spec.bytes,
      template: withDoctrine(template, doctrine.text),
      model,
      effort,
    }),
    repo,
  };
  const basis = { spec: spec.text, files: files.list, doctrine: doctrine.text };
  const prompt = planPromptText(template.text, basis);
  await clearPlan(io.cwd);
  await writeFileAtomic(join(io.cwd, inWorkspace.planSpec), spec.text);
  await writeFileAtomic(join(io.cwd, inWorkspace.planOriginal), prompt);
  await writeFileAtomic(join(io.cwd, inWorkspace.planPrompt), prompt);
  await writeState(io, state);

  const summary = {
    prompt: inWorkspace.planPrompt,
    compile_hash: state.compile_hash,
    files: files.list.length,
  };
  await tellEngine(io, {
    outcome: 'success',
    context_updates: { 'plan.attempt': 0, 'plan.compile_hash': state.compile_hash },
  });
  if (options.json === true) io.out(`${JSON.stringify({ outcome: 'success', ...summary })}\n`);
  else {
    io.out(
      `wrote ${summary.prompt} (compile hash ${summary.compile_hash}, ${counted(summary.files, 'file')} in place)\n`,
    );
  }
  return ok;
}

/** Checks the model's answer against the workspace. Returns 0 when it is a valid plan (`plan.json` is written), 2
 *  when it has errors, 4 when it is no JSON; while attempts remain the prompt becomes the one that asks for a
 *  revision. Also 2, with nothing written, when a file or flag is wrong. */
export async function planCheck(options: PlanCheckOptions, io: PlanIo): Promise<number> {
  const attempts = Number(options.attempts ?? defaultAttempts);
  if (!Number.isSafeInteger(attempts) || attempts < 1) {
    return refuse(
      io,
      options,
      `--attempts is ${JSON.stringify(options.attempts)}: give a whole number of at least 1`,
    );
  }
  const template = await readRevisionTemplate(io.cwd, options.template);
  if ('problem' in template) return refuse(io, options, template.problem);
  const doctrine = await readDoctrine(io.cwd, options.doctrine);
  if ('problem' in doctrine) return refuse(io, options, doctrine.problem);
  const state = readState(io) ?? unbegun(io.now());
  if ('problem' in state)
    return refuse(io, options, `${state.problem}; begin again with factory plan prompt`);
  const found = await readAnswer(io.cwd);
  if (found === undefined) {
    return refuse(
      io,
      options,
      `there is no answer to check: put the model's answer into ${inWorkspace.planAnswer}`,
    );
  }
  const files = await filesOf(state.repo ?? io.cwd, io.env);
  if ('problem' in files) return refuse(io, options, files.problem);

  const answer = found.text;
  const { plan, findings, notes, parseError } = found.isUtf8
    ? checkPlan(answer, {
        repoFiles: files.list,
        strict: options.rules === 'strict',
      })
    : unreadable('the answer is not UTF-8 text');
  const errors = findings.filter(isError);
  const attempt = state.attempt + 1;
  const label = plan !== undefined ? 'valid' : attempt < attempts ? 'revise' : 'give_up';

  const folder = join(io.cwd, inWorkspace.plan, `attempt-${attempt}`);
  await writeFileAtomic(join(folder, 'answer.json'), answer);
  await writeJson(join(folder, 'findings.json'), findings);
  const checked = join(io.cwd, inWorkspace.planChecked);
  if (plan !== undefined) await writeFileAtomic(checked, fileText(plan), { evenFolder: true });
  else await rm(checked, { recursive: true, force: true });
  if (label === 'revise') {
    const prompt = revisionPrompt(template.text, {
      basis: {
        spec: (await readIfThere(join(io.cwd, inWorkspace.planSpec))) ?? '(it was not kept)',
        files: files.list,
        doctrine: doctrine.text,
      },
      originalPrompt: (await readIfThere(join(io.cwd, inWorkspace.planOriginal))) ?? '',
      previousAnswer: answer,
      findings,
      earlier: state.attempts.map((attempt) => attempt.findings),
    });
    await writeFileAtomic(join(io.cwd, inWorkspace.planPrompt), prompt);
  }
  const record = {
    attempt,
    checked_at: io.now().toISOString(),
    parse_error: parseError,
    findings: [...findings],
  };
  await writeState(io, { ...state, attempt, attempts: [...state.attempts, record] });

  const reason = plan !== undefined ? '' : parseError ? unparseableReason(errors) : errorsReason(errors);
  const orders = plan?.work_orders.length;
  await tellEngine(io, {
    outcome: plan !== undefined ? 'success' : 'fail',
    preferred_next_label: label,
    ...(plan === undefined
      ? { failure_reason: reason, failure_class: parseError ? 'agent' : 'product' }
      : {}),
    context_updates: {
      'plan.attempt': attempt,
      'plan.errors': errors.length,
      ...(orders === undefined ? {} : { 'plan.orders': orders }),
    },
    notes: plan === undefined ? reason : `a valid plan of ${counted(plan.work_orders.length, 'work order')}`,
  });
  if (options.json === true) {
    const outcome = plan !== undefined ? 'success' : 'fail';
    const body = {
      outcome,
      label,
      attempt,
      attempts,
      parse_error: parseError,
      reason,
      orders: orders ?? null,
      findings,
      notes,
    };
    io.out(`${JSON.stringify(body)}\n`);
  } else {
    for (const finding of findings) io.out(draw(finding));
    for (const note of notes) io.out(draw(note, 'note'));
    io.out(
      `attempt ${attempt} of ${attempts}: ${plan === undefined ? reason : `valid, ${counted(orders ?? 0, 'work order')}`}\n`,
    );
    if (label === 'revise') io.out(`wrote ${inWorkspace.planPrompt}, which asks for a revision\n`);
    if (label === 'valid') io.out(`wrote ${inWorkspace.planChecked}\n`);
  }
  if (plan !== undefined) return ok;
  return parseError ? unparseable : findingsFound;
}

/** Writes the checked plan's work orders, the manifest last; those of an earlier plan are removed. Returns 0, or 2
 *  with nothing written when there is no plan or it does not (any longer) fit the workspace. */
export async function planEmit(options: PlanEmitOptions, io: PlanIo): Promise<number> {
  const checked = readPlain(join(io.cwd, inWorkspace.planChecked));
  if (checked.kind !== 'text') {
    return refuse(
      io,
      options,
      `there is no checked plan (${inWorkspace.planChecked}): run factory plan check first`,
    );
  }
  const state = readState(io) ?? unbegun(io.now());
  if ('problem' in state)
    return refuse(io, options, `${state.problem}; begin again with factory plan prompt`);
  const files = await filesOf(state.repo ?? io.cwd, io.env);
  if ('problem' in files) return refuse(io, options, files.problem);
  // The plan or the workspace may have been edited since the check.
  const { plan, findings } = checkPlan(checked.text, {
    repoFiles: files.list,
  });
  if (plan === undefined) {
    for (const finding of findings) io.err(draw(finding));
    const why = errorsReason(findings.filter(isError));
    return refuse(
      io,
      options,
      `${inWorkspace.planChecked} does not fit the workspace (${why}): run factory plan check again`,
    );
  }

  const plannerRunId = io.env['FACTORY_RUN_ID'] || 'manual';
  const emission = emit(plan, files.list, { plannerRunId, compileHash: state.compile_hash });
  const folder = join(io.cwd, inWorkspace.orders);
  const written = emission.orders.map((order) => ({ name: `${String(order['id'])}.json`, order }));
  // A manifest exists only with a complete set of orders. An agent may have created anything with these names.
  await rm(join(folder, manifestFile), { recursive: true, force: true });
  for (const name of namesIn(folder)) {
    if (/^(WO|FIX)-.*\.json$/i.test(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
  for (const { name, order } of written) await writeFileAtomic(join(folder, name), fileText(order));
  await writeFileAtomic(join(folder, manifestFile), fileText(emission.manifest));
  await writeFileAtomic(join(io.cwd, inWorkspace.planNormalized), fileText(emission.normalized));
  await writeState(io, { ...state, skipped: [...emission.skipped] });

  await tellEngine(io, {
    outcome: 'success',
    context_updates: { 'plan.orders': written.length },
    notes: `wrote ${counted(written.length, 'work order')}`,
  });
  if (options.json === true) {
    const orders = emission.orders.map(({ id = null, title = null, verify_exempt = null }) => ({
      id,
      title,
      verify_exempt,
    }));
    const { manifestSha256: manifest_sha256, skipped } = emission;
    io.out(
      `${JSON.stringify({ outcome: 'success', folder: inWorkspace.orders, manifest_sha256, skipped, orders })}\n`,
    );
    return ok;
  }
  for (const id of emission.skipped)
    io.out(`left out ${id} of the plan: the repository has the verify script already\n`);
  for (const order of emission.orders) io.out(`${textOf(order['id'])}  ${textOf(order['title'])}\n`);
  io.out(`wrote ${counted(written.length, 'work order')} and ${manifestFile} to ${inWorkspace.orders}\n`);
  return ok;
}

/** Registers `plan` and its verbs; `io.exit` is given each verb's exit code. */
export function planCommand(
  program: Command,
  io: PlanIo & { readonly exit: (code: number) => void },
): Command {
  const plan = program
    .command('plan')
    .description('Compile a spec into work orders, at once or step by step');
  const finish = async (code: Promise<number>) => io.exit(await code);
  plan
    .command('prompt')
    .description('Write the planning prompt and start a plan in this workspace')
    .requiredOption('--spec <file>', 'product spec')
    .requiredOption(
      '--template <file>',
      'prompt template with {{PRODUCT_SPEC}} and, optionally, {{REPO_FILES}}',
    )
    .option('--doctrine <file>', 'rules that replace {{WORK_ORDER_RULES}}')
    .option('--repo <dir>', 'list the files of this directory instead of the workspace')
    .option('--model <name>', 'model, for the compile hash')
    .option('--effort <level>', 'reasoning effort, for the compile hash')
    .option('--json', 'print one JSON object')
    .action((options: PlanPromptOptions) => finish(planPrompt(options, io)));
  plan
    .command('check')
    .description(`Check the model's answer in ${inWorkspace.planAnswer}`)
    .option('--attempts <n>', 'answers to check before giving up', String(defaultAttempts))
    .option('--template <file>', 'prompt template for a revision')
    .option('--doctrine <file>', 'rules to repeat in it')
    .addOption(
      new Option('--rules <which>', 'strict: also refuse shell syntax and commands that a build would refuse')
        .choices(['strict', 'lenient'])
        .default('lenient'),
    )
    .option('--json', 'print one JSON object')
    .action((options: PlanCheckOptions) => finish(planCheck(options, io)));
  plan
    .command('emit')
    .description(`Write the work orders of the checked plan to ${inWorkspace.orders}`)
    .option('--json', 'print one JSON object')
    .action((options: PlanEmitOptions) => finish(planEmit(options, io)));
  return plan;
}

type Told = {
  readonly outcome: 'success' | 'fail';
  readonly preferred_next_label?: string;
  readonly failure_reason?: string;
  readonly failure_class?: FailureClass;
  readonly context_updates?: JsonObject;
  readonly notes?: string;
};

/** Says more than an exit code to the engine, when one is listening. */
async function tellEngine(io: PlanIo, told: Told): Promise<void> {
  const path = io.env['FACTORY_OUTPUT'];
  // Written in place: the file is the engine's, and a sandbox shows it as a file that cannot be replaced.
  if (path) await writeFile(path, `${JSON.stringify(told)}\n`);
}

/** Reports an invalid text or flag and returns exit code 2. */
async function refuse(io: PlanIo, options: Shared, problem: string): Promise<number> {
  await tellEngine(io, { outcome: 'fail', failure_reason: problem, failure_class: 'config' });
  if (options.json === true) io.out(`${JSON.stringify({ outcome: 'fail', reason: problem })}\n`);
  else io.err(`error: ${problem}\n`);
  return textOrFlagsWrong;
}

const maxNamed = 10;

/** `the plan has 2 errors: E003 (WO-02), E104 (WO-03)` */
function errorsReason(errors: readonly PlanFinding[]): string {
  const named = errors.slice(0, maxNamed).map(({ code, wo_id, field }) => {
    const where = wo_id || field;
    return where ? `${code} (${where})` : code;
  });
  if (errors.length > maxNamed) named.push(`and ${errors.length - maxNamed} more`);
  return `the plan has ${counted(errors.length, 'error')}: ${named.join(', ')}`;
}

const unparseableReason = (errors: readonly PlanFinding[]): string =>
  `the answer is not a plan: ${errors.map((e) => e.message.replace(/^JSON parse error: /, '')).join('; ')}`;

function draw(finding: PlanFinding, as?: 'note'): string {
  const { code, severity, message, fix } = toDiagnostic(finding);
  return `${as ?? severity}[${code}] ${message}\n  = fix: ${fix}\n`;
}

const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
