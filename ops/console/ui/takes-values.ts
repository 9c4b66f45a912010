import type { JsonFormsCore } from '@jsonforms/core';
import type { Syntax } from '../values/path.ts';
import { isObject } from './is-object.ts';
import { propertiesOf, type Schema } from './schema-shape.ts';
import { valueAt } from './schema-value.ts';
import type { Templates } from './template.ts';

/** Fields with names and with words for editors, and those that describe a form: a value of a run says nothing there. */
const PLAIN: ReadonlySet<string> = new Set([
  ...['id', 'name', 'key', 'label', 'placeholder', 'defaultBranch', 'timeoutHandle', 'model', 'tools'],
  ...['outputSchema', 'formSchema', 'formUischema'],
]);

interface Field {
  path: string;
  schema: Schema;
  templates: Templates | undefined;
}

/** How values are named in a field of a form whose fields take templates; undefined for fields that do not. */
export function syntaxOf({ path, schema, templates }: Field, core: JsonFormsCore | undefined): Syntax | undefined {
  if (!templates) return undefined;
  const parts = path.split('.');
  const name = parts.at(-1) ?? '';
  if (schema.contentMediaType === 'text/javascript') return 'code';
  // On a page, labels are shown too; a key is what others name.
  if (templates.root === 'queries') return name === 'key' ? undefined : 'template';
  if (schema.pattern !== undefined || PLAIN.has(name)) return undefined;
  if (path === 'sourceVariables') return 'key';
  // The title of a question is shown to the person who is asked; that of another step is its name.
  if ((name === 'title' || name === 'description') && !(parts.length === 1 && asksPeople(core))) return undefined;
  return isExpression(parts, core) ? 'expression' : 'template';
}

function asksPeople(core: JsonFormsCore | undefined): boolean {
  return core !== undefined && propertiesOf(core.schema as Schema).approvers !== undefined;
}

/** Whether a field is JavaScript, because the operator beside it says so. */
function isExpression(parts: readonly string[], core: JsonFormsCore | undefined): boolean {
  if (!core || parts.length < 2) return false;
  const beside = valueAt(core.data, parts.slice(0, -1));
  return isObject(beside) && beside.operator === 'expression' && parts.at(-1) !== 'rightValue';
}

/** Fields of a request that secrets may be put into. */
const WITH_SECRETS: readonly string[] = ['url', 'headers', 'queryParams', 'body'];

/** Whether a field is one of a request, which may have secrets. */
export function takesSecrets(path: string, core: JsonFormsCore | undefined): boolean {
  const fields = core === undefined ? {} : propertiesOf(core.schema as Schema);
  const isRequest = ['url', 'method', 'headers', 'bodyType'].every((name) => fields[name] !== undefined);
  return isRequest && WITH_SECRETS.includes(path.split('.')[0] ?? '');
}
