/** Checks each work order alone. */
import { isObject, type Json, type JsonObject } from '../core/json.ts';
import { hasWildcard, workOrderSchema } from '../core/orders/work-order.ts';
import { programTexts } from '../core/policy/programs.ts';
import { readShell } from '../core/policy/shell.ts';
import { type PythonPrograms, readPython } from '../platform/python.ts';
import { findingOf, type PlanFinding } from './findings.ts';
import { isList, normalizeOrder, type OrderView, viewOrder } from './order-view.ts';

const maxOrders = 99;
/** Words that are refused in commands. */
export const operators: ReadonlySet<string> = new Set(['|', '||', '&&', ';', '>', '>>', '<', '<<']);

export type Structure = {
  readonly orders: readonly OrderView[];
  /** The check of each Python program in the orders' commands. */
  readonly python: PythonPrograms;
  readonly findings: readonly PlanFinding[];
};

/** The normalised orders of `plan`, none when the list or one of its elements has the wrong shape, and the findings
 *  about each order alone, in a fixed sequence: all ids first, then order by order. */
export function checkOrders(plan: JsonObject): Structure {
  const list = plan['work_orders'];
  if (!isList(list))
    return none(`work_orders is ${list === undefined ? 'missing' : `${jsonKind(list)}, not a list`}`);
  if (list.length === 0) return none('work_orders is empty');
  const objects = list.filter(isObject);
  if (objects.length < list.length) {
    const findings = list.flatMap((item, i): PlanFinding[] =>
      isObject(item)
        ? []
        : [
            {
              code: 'E000',
              wo_id: `index-${i}`,
              field: null,
              message: `is ${jsonKind(item)}, not an object`,
            },
          ],
    );
    return { orders: [], python: new Map(), findings };
  }
  const orders = objects.map((order, index) => viewOrder(normalizeOrder(order), index));
  const programs = orders.flatMap(({ commands }) =>
    commands.flatMap(({ words }) => programTexts(words ?? [])),
  );
  const python = readPython(programs.flatMap(({ language, text }) => (language === 'python' ? [text] : [])));
  const findings = [...orders.flatMap(checkId), ...orders.flatMap((order) => checkOrder(order, python))];
  return { orders, python, findings };
}

const none = (message: string): Structure => ({
  orders: [],
  python: new Map(),
  findings: [{ code: 'E000', wo_id: null, field: null, message }],
});

function checkId(order: OrderView): PlanFinding[] {
  const position = order.index + 1;
  const expected = `WO-${String(position).padStart(2, '0')}`;
  if (position <= maxOrders && order.id === expected) return [];
  const found = order.id === undefined || order.id === '' ? 'no id' : `the id ${JSON.stringify(order.id)}`;
  const message =
    position <= maxOrders
      ? `work order ${position} has ${found}, not ${expected}`
      : `work order ${position} is one too many: a plan has at most ${maxOrders}`;
  return [{ code: 'E001', wo_id: order.id || `index-${order.index}`, field: 'id', message }];
}

function checkOrder(order: OrderView, programs: PythonPrograms): PlanFinding[] {
  const wo_id = order.id ?? `index-${order.index}`;
  const found = findingOf(wo_id);
  const findings: PlanFinding[] = [];
  const commandField = 'acceptance_commands';
  for (const { text, words, problem } of order.commands) {
    if (words === undefined)
      findings.push(found('E007', commandField, `${quote(text)} cannot be split into words: ${problem}`));
    else {
      const operator = words.find((word) => operators.has(word));
      if (operator !== undefined) findings.push(found('E003', commandField, operatorMessage(text, operator)));
    }
  }
  for (const { text, words, problem, python } of order.commands) {
    if (words === undefined) {
      findings.push(found('E007', commandField, `${quote(text)} cannot be checked as Python: ${problem}`));
    }
    const program = python === undefined ? undefined : programs.get(python);
    if (program?.kind === 'invalid') {
      findings.push(found('E006', commandField, `${quote(text)} is ${program.problem}`));
    } else if (program?.kind === 'unchecked') {
      findings.push(found('W102', commandField, `${quote(text)} was not checked: ${program.why}`));
    }
  }
  for (const field of ['allowed_files', 'context_files'] as const) {
    for (const path of field === 'allowed_files' ? order.allowed : order.context) {
      if (hasWildcard(path)) findings.push(found('E004', field, `${quote(path)} has a wildcard`));
    }
  }
  const read = workOrderSchema().safeParse(order.raw);
  if (!read.success) findings.push(found('E005', null, summarize(read.error.issues)));
  return findings;
}

function operatorMessage(text: string, operator: string): string {
  const message = `${quote(text)} has the shell operator ${operator}`;
  const written = readShell(text).commands.flatMap(({ words }) => words);
  if (!written.some((word) => word.text === operator && word.raw !== operator)) return message;
  return (
    `${message}; a word that is nothing but an operator is refused in quotes, too: write it as part of a longer ` +
    `word (grep -e'${operator}' FILE), or put the command into a script that the step writes`
  );
}

type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

/** The first schema errors in one line. */
function summarize(issues: readonly Issue[]): string {
  const shown = issues.slice(0, 5).map(({ path, message }) => {
    const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
    return `${place.replace(/^\./, '')}: ${message}`;
  });
  const more = issues.length - shown.length;
  return `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

/** A command or path, shortened and quoted for messages. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}...` : text);

/** The type of a value with its article, for messages. */
export function jsonKind(value: Json): string {
  if (value === null) return 'null';
  if (isList(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
