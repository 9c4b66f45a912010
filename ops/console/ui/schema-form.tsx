import { Fieldset, Stack } from '@mantine/core';
import { Notice } from './notice.tsx';
import { type Choice, Control } from './schema-control.tsx';
import { type Layout, partOf, type Schema, schemaAt, shows, valueAt, withValueAt } from './schema-parts.ts';

interface Props {
  schema: Schema;
  uischema: Layout;
  value: Readonly<Record<string, unknown>>;
  onChange: (value: Readonly<Record<string, unknown>>) => void;
  /** Faults by the path of their field, its parts joined by dots. */
  faults?: ReadonlyMap<string, string>;
  /** What fields with ids of other assets can be set to, by the names of those fields. */
  choices?: ReadonlyMap<string, readonly Choice[]>;
}

/** A form as the API describes it: JSON Schema of the value, and JSONForms for the layout. */
export function SchemaForm({ uischema, ...form }: Props) {
  return <Elements elements={uischema.elements ?? []} {...form} />;
}

function Elements({ elements, ...form }: Omit<Props, 'uischema'> & { elements: readonly Layout[] }) {
  return (
    <Stack gap="sm">
      {elements
        .filter((element) => shows(element, form.schema, form.value))
        .map((element) => (
          <Element key={element.scope ?? element.label} element={element} {...form} />
        ))}
    </Stack>
  );
}

function Element({ element, ...form }: Omit<Props, 'uischema'> & { element: Layout }) {
  const { type, label, elements = [], scope, options } = element;
  if (elements.length > 0) {
    if (type !== 'Group') return <Elements elements={elements} {...form} />;
    return (
      <details className="group">
        <summary>{label}</summary>
        <Fieldset variant="unstyled" aria-label={label}>
          <Elements elements={elements} {...form} />
        </Fieldset>
      </details>
    );
  }
  if (!scope) return null;
  const path = partOf(scope);
  const schema = schemaAt(form.schema, path);
  // There is nothing to choose.
  if (schema.const !== undefined) return null;
  const name = path.at(-1) ?? '';
  const fault = faultAt(path.join('.'), form.faults);
  const choices = form.choices?.get(name);
  return (
    <Control
      schema={schema}
      name={name}
      isSecret={options?.format === 'password'}
      isMulti={options?.multi === true}
      language={options?.language}
      isRequired={form.schema.required?.includes(path[0] ?? '') === true && path.length === 1}
      value={valueAt(form.value, path)}
      onChange={(value) => form.onChange(withValueAt(form.value, path, value))}
      {...(fault !== undefined && { fault })}
      {...(choices && { choices })}
    />
  );
}

/** A fault within a field is shown at it, with its place. */
function faultAt(path: string, faults: ReadonlyMap<string, string> | undefined): string | undefined {
  const within = [...(faults ?? [])].find(([at]) => at.startsWith(`${path}.`));
  return faults?.get(path) ?? (within && `${within[0].slice(path.length + 1)}: ${within[1]}`);
}

/** Faults that belong to no field of the form. */
export function OtherFaults({ faults }: { faults: readonly string[] }) {
  if (faults.length === 0) return null;
  return (
    <Notice tone="bad" role="alert">
      {faults.join('\n')}
    </Notice>
  );
}
