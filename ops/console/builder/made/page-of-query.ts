import { isReadOnly } from '../../query/read-only.ts';
import { fieldOfInput, type Input, inputsOf, widgetOfInput } from './inputs.ts';
import { type Part, type Plan, Planning } from './plan.ts';

type Values = Readonly<Record<string, unknown>>;

/** How a page shows what a query answers. */
export const shapes = {
  table: 'A table',
  values: 'Names and values',
  json: 'The answer as it is',
} as const;
export type Shape = keyof typeof shapes;

interface Wanted {
  query: { id: string; title: string; options: Values };
  title: string;
  /** Whether the query is run when the page opens, and whenever an input changes; else by a button. */
  isReading: boolean;
  shape: Shape;
  newID: () => string;
}

/** Whether it is safe to run a query without being asked: it reads, and needs no value beside those that are given. */
export function isReading(options: Values, given: Values = {}): boolean {
  const inputs = inputsOf(options.inputDefinitions);
  if (inputs.some(({ key, isRequired, first }) => isRequired && first === undefined && !Object.hasOwn(given, key)))
    return false;
  return isReadOnly(options);
}

/** Fields for the inputs of a query, and what it answers. */
export function pageOfQuery({ query, title, isReading: reads, shape, newID }: Wanted): Plan {
  const planning = new Planning(newID);
  const inputs = inputsOf(query.options.inputDefinitions);
  const fields = reads ? planFields(planning, inputs) : planForm(planning, { inputs, title: query.title });
  planning.bind(
    'result',
    { type: 'dataQuery', id: query.id },
    {
      triggerMode: reads ? 'reactive' : 'manual',
      inputValues: Object.fromEntries(
        inputs.map(({ key }, at) => [key, reads ? valueOfInput(at) : `{{event.values[${JSON.stringify(key)}]}}`]),
      ),
    },
  );
  const answer = planAnswer(planning, query.title, shape);
  return planning.plan(title, `Shows the query ${query.title}.`, [...fields, answer]);
}

const PER_ROW = 4;

function valueOfInput(at: number): string {
  return `{{widgets.input_${at + 1}.value}}`;
}

function planFields(planning: Planning, inputs: readonly Input[]): Part[] {
  const parts = inputs.map((one, at) => {
    const [type, properties] = widgetOfInput(one);
    return planning.widget(`input_${at + 1}`, type, { title: one.label, properties }, { span: 12 / PER_ROW });
  });
  const rows: Part[] = [];
  for (let at = 0; at < parts.length; at += PER_ROW) rows.push(planning.row(...parts.slice(at, at + PER_ROW)));
  return rows;
}

function planForm(planning: Planning, { inputs, title }: { inputs: readonly Input[]; title: string }): Part[] {
  const events = { onSubmit: [{ type: 'EXECUTE_QUERY', alias: 'result' }] };
  if (inputs.length === 0)
    return [planning.widget('run', 'button', { title: 'Run', properties: { label: 'Run' }, events })];
  const fields = inputs.map(fieldOfInput);
  return [planning.widget('ask', 'form', { title, properties: { fields, submitLabel: 'Run' }, events })];
}

function planAnswer(planning: Planning, title: string, shape: Shape): Part {
  const data = '{{queries.result.data}}';
  if (shape === 'values') return planning.widget('result', 'key-value', { title, properties: { values: data } });
  if (shape === 'json')
    return planning.widget('result', 'json-viewer', { title, properties: { value: data, depth: 3 } });
  const properties = { items: data, pageSize: 20, isSearchable: true };
  return planning.widget('result', 'table', { title, properties });
}
