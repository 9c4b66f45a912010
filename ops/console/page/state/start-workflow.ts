import { isObject } from '../../ui/is-object.ts';
import { compile } from '../bindings/compile.ts';
import type { Bindings } from '../bindings/graph.ts';
import type { PageClient, RunState, RunTarget } from './client.ts';
import type { Messages } from './messages.ts';
import type { Runs } from './runs.ts';

type Values = Readonly<Record<string, unknown>>;

interface StartingPage {
  client: Pick<PageClient, 'readInputs'>;
  bindings: Bindings;
  runs: Runs;
  messages: Pick<Messages, 'askInputs'>;
}

interface ToStart {
  widgetKey: string;
  workflow: RunTarget['workflow'];
  /** The inputs with their expressions; undefined: neither the page nor the action says anything about them. */
  inputs: Values | undefined;
  event: Values;
}

/**
 * Starts a run of a workflow. Inputs that read `form`, and those of a workflow that nothing is said about, are asked for first, in a form
 * made from what the workflow declares. Null: the person has left the form.
 */
export async function startWorkflow(
  page: StartingPage,
  { inputs, event, ...target }: ToStart,
): Promise<RunState | null> {
  const start = async (form: Values) =>
    page.runs.start({ ...target, inputs: inputs ? await valuesOf(page, inputs, { event, form }) : form });
  const fields = inputs ? fieldsOf(inputs) : undefined;
  if (fields?.length === 0) return start({});
  const declared = await page.client.readInputs(target.workflow);
  const definitions = fields ? definitionsOf(declared, new Set(fields)) : declared;
  return definitions.length === 0 ? start({}) : page.messages.askInputs(definitions, start);
}

/** The names that inputs read from the form. */
function fieldsOf(inputs: Values): string[] {
  return compile(inputs).names.flatMap(({ root, key }) => (root === 'form' && key !== null ? [key] : []));
}

/** In the order of the declaration. A name that it does not have is that of a part of an input: a text. */
function definitionsOf(declared: readonly unknown[], fields: ReadonlySet<string>): unknown[] {
  const known = declared.filter((one) => isObject(one) && fields.has(String(one.key)));
  const others = fields.difference(new Set(known.map((one) => isObject(one) && one.key)));
  return [...known, ...[...others].map((key) => ({ key, type: 'string' }))];
}

async function valuesOf(
  { bindings }: StartingPage,
  inputs: Values,
  own: { event: Values; form: Values },
): Promise<Values> {
  const { value, faults } = await bindings.once(inputs, own);
  const [fault] = faults;
  if (fault) throw new Error(`{{${fault.source}}} ${fault.message}`);
  // An input without a value is left out, so that its default counts.
  return isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) : {};
}
