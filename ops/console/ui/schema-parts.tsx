import { composePaths, findUISchema, type JsonSchema, type UISchemaElement } from '@jsonforms/core';
import { JsonFormsDispatch, useJsonForms } from '@jsonforms/react';
import { Button, Fieldset, Group, Stack } from '@mantine/core';
import { useContext, useMemo, useState } from 'react';
import { ValuesOfStep } from '../values/context.ts';
import type { Drawn } from './drawn.ts';
import { hasFault } from './schema-faults.ts';
import { Box, Fault, Hint } from './schema-layouts.tsx';
import { itemsOf, type Layout, layoutOf, propertiesOf, type Schema } from './schema-shape.ts';

/** An object in a form: a group of its fields. */
export function ObjectControl(control: Drawn) {
  const { core } = useJsonForms();
  const { schema, path, label, description, error } = control;
  const layout = useLayout(control, schema, 'VerticalLayout');
  return (
    <Box label={label} isAtFault={error !== undefined || hasFault(layout, path, core?.additionalErrors)}>
      <Stack gap="sm">
        <Hint text={description} />
        <Fault text={error} />
        <Inside {...{ layout, schema, path }} isEnabled={!control.disabled} />
      </Stack>
    </Box>
  );
}

/** A list of objects: the fields of each, in an order that can be changed. */
export function ListControl(control: Drawn) {
  const { schema, path, label, description, error, disabled, value, onChange } = control;
  // Fields keep what is typed, so they begin anew where items have moved.
  const [moves, setMoves] = useState(0);
  const described = itemsOf(schema) ?? {};
  const line = useContext(ValuesOfStep)?.line;
  const bare = useMemo(() => line?.bare(described), [line, described]);
  const items = bare ?? described;
  const layout = useLayout(control, items, isFlat(items) ? 'HorizontalLayout' : 'VerticalLayout');
  const rows: readonly unknown[] = Array.isArray(value) ? value : [];
  const put = (next: readonly unknown[]) => onChange(next.length > 0 ? next : undefined);
  const move = (next: readonly unknown[]) => {
    setMoves(moves + 1);
    put(next);
  };
  return (
    <Fieldset legend={label} p="xs" disabled={disabled}>
      <Stack gap="xs">
        <Hint text={description} />
        {bare && line && <line.Help of={described} />}
        {rows.map((row, index) => (
          <Item
            // biome-ignore lint/suspicious/noArrayIndexKey: items have no key but their place
            key={`${moves} ${index}`}
            {...{ layout, index, label }}
            isLine={bare !== undefined}
            of={items}
            path={composePaths(path, `${index}`)}
            isEnabled={!disabled}
            onUp={() => move(rows.with(index, rows[index - 1]).with(index - 1, row))}
            onRemove={() => move(rows.toSpliced(index, 1))}
          />
        ))}
        <Fault text={error} />
        <div>
          <Button size="compact-sm" variant="default" onClick={() => put([...rows, {}])}>
            Add to {label}
          </Button>
        </div>
      </Stack>
    </Fieldset>
  );
}

interface ItemProps {
  layout: Layout;
  of: Schema;
  path: string;
  isEnabled: boolean;
  index: number;
  label: string;
  /** Its fields stand in one line. */
  isLine: boolean;
  onUp: () => void;
  onRemove: () => void;
}

function Item({ layout, of, path, isEnabled, index, label, isLine, onUp, onRemove }: ItemProps) {
  return (
    <fieldset
      className={isLine ? 'item line' : layout.type === 'HorizontalLayout' ? 'item' : 'item tall'}
      aria-label={`${label}, ${index + 1}`}
    >
      <Inside schema={of} {...{ layout, path, isEnabled }} />
      <Group gap={4} wrap="nowrap">
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Move ${label} ${index + 1} up`}
          disabled={index === 0}
          onClick={onUp}
        >
          ↑
        </Button>
        <Button size="compact-xs" variant="default" aria-label={`Remove ${label} ${index + 1}`} onClick={onRemove}>
          ×
        </Button>
      </Group>
    </fieldset>
  );
}

/** The layout of one object: what its control names as `detail`, else all its fields. */
function useLayout({ element, path }: Drawn, schema: Schema, type: string): Layout {
  return useMemo(() => {
    const all = () => layoutOf(schema, type) as UISchemaElement;
    return findUISchema([], schema as JsonSchema, element.scope, path, all, element as never) as Layout;
  }, [element, path, schema, type]);
}

/** Whether each item is a few fields beside each other. */
function isFlat(items: Schema): boolean {
  return Object.values(propertiesOf(items)).every(({ type }) => type !== 'object' && type !== 'array');
}

function Inside({
  layout,
  schema,
  path,
  isEnabled,
}: {
  layout: Layout;
  schema: Schema;
  path: string;
  isEnabled: boolean;
}) {
  return (
    <JsonFormsDispatch
      uischema={layout as UISchemaElement}
      schema={schema as JsonSchema}
      path={path}
      enabled={isEnabled}
    />
  );
}
